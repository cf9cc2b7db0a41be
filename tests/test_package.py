"""The package as it is installed: its list, its layers, and how light it is."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("configs", "filters", "gan_training", "selection")


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_in_the_tree() -> set[str]:
    found = set()
    for top, prefix in [("diffgan", ""), *((name, "diffgan.") for name in BESIDE)]:
        for init in (ROOT / top).rglob("__init__.py"):
            relative = init.parent.relative_to(ROOT)
            if not any((ROOT / part).is_symlink() for part in [relative, *relative.parents]):
                found.add(prefix + ".".join(relative.parts))
    return found


def test_the_package_list_is_the_tree() -> None:
    listed = project()["tool"]["setuptools"]["packages"]  # type: ignore[index]
    assert sorted(listed) == sorted(packages_in_the_tree())


def test_the_folders_beside_diffgan_are_linked_and_mapped() -> None:
    mapping = project()["tool"]["setuptools"]["package-dir"]  # type: ignore[index]
    for name in BESIDE:
        link = ROOT / "diffgan" / name
        assert link.is_symlink(), f"diffgan/{name} must be a relative link to ../{name}"
        assert str(link.readlink()) == f"../{name}"
        assert mapping[f"diffgan.{name}"] == name


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import diffgan", "import diffgan.cli.main", "import diffgan.stats"])
def test_imports_are_light(statement: str) -> None:
    heavy = {"torch", "torchvision", "umap", "numba", "hdbscan", "sklearn", "scipy", "onnxruntime", "pymoo", "optuna"}
    assert not heavy & loaded_after(statement)


def test_the_archive_is_light_enough_for_a_page_that_only_reads() -> None:
    assert not {"torch", "pyarrow", "PIL", "pandas"} & loaded_after("import diffgan.archive")


def test_the_names_of_the_api_are_there() -> None:
    import diffgan

    for name in diffgan.__all__:
        assert getattr(diffgan, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        diffgan.nope  # noqa: B018
