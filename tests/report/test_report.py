"""The report of every kind of run: what it says, what it does not say, and that it always comes."""

from __future__ import annotations

import re
import shutil
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive
from diffgan.datasets import load_dataset
from diffgan.errors import DiffganError
from diffgan.generators.generator import load_generator
from diffgan.images import ImageSpec
from diffgan.models.loading import load_classifier
from diffgan.report import write_report
from tests.report.pages import Page
from tests.report.runs import Plan, label, reject, write_generator, write_model, write_run

SECTIONS = (
    "pair", "matrix", "gallery", "map", "clusters", "front", "growth", "filters", "labels", "generator", "again",
)  # fmt: skip
EVIL = '</script><script>alert("1")</script><img src=x onerror=alert(2)>'


def page_of(run: Path, **options: Path | None) -> Page:
    return Page(write_report(run, **options).read_text(encoding="utf-8"))  # type: ignore[arg-type]


@pytest.fixture
def tested(tmp_path: Path) -> dict[str, object]:
    """The configuration of a run of two models that differ on some digits."""
    data = load_dataset("digits:test")
    flat = data.images.reshape(len(data), -1) / 255
    means = np.stack([flat[data.labels == number].mean(axis=0) for number in range(10)], axis=1).astype(np.float32)
    described = {}
    for place, matrix in (("a", means - 0.3), ("b", (means - 0.3) * (np.arange(64) % 7 != 0)[:, None])):
        path = write_model(tmp_path / f"{place}.onnx", np.asarray(8 * matrix, dtype=np.float32))
        model = load_classifier(path)
        described[place] = {
            "source": str(path),
            "fingerprint": model.fingerprint,
            "options": {"task": "classification"},
        }
    return {
        "models": described,
        "data": {"name": "digits:test", "fingerprint": data.fingerprint},
        "divergence": "euclidean",
        "strategy": {"name": "nsga2", "settings": {}},
        "seed": 7,
        "batch": 64,
        "budget": {"evaluations": 5000},
    }


def test_a_full_report(tmp_path: Path, tested: dict[str, object]) -> None:
    run = write_run(tmp_path / "run", Plan(config=tested))
    reject(run, "ssim", range(20))
    label(run, "ann", range(40), [number % 5 for number in range(40)])
    page = page_of(run)
    for name in SECTIONS:
        assert page.part(name)
    first, second = page.verdict
    found = re.search(r"disagree on (\d+), which is ([\d.]+) % \(95 % interval", first)
    assert found is not None
    assert float(found[2]) == pytest.approx(100 * int(found[1]) / 719, abs=0.06)
    assert "120 different images" in second
    assert "100 pass the filters" in second
    assert "A is right on 40" in second
    assert "drawn at random" not in page.part("pair")
    assert "diffgan compare" in page.part("again")
    assert "--evaluations 5000" in page.part("again")


def test_the_matrix_counts_kept_and_found(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=50, cells=5))
    reject(run, "ssim", [0, 5, 10, 1])
    page = page_of(run)
    assert "A says 0, B says 1: 7 kept of 10" in page.html
    assert "A says 1, B says 2: 9 kept of 10" in page.html
    assert "A says 4, B says 5: 10 kept of 10" in page.html


def test_many_classes_are_listed(tmp_path: Path) -> None:
    names = [f"class {number}" for number in range(1000)]
    run = write_run(tmp_path / "run", Plan(count=2500, names=names, cells=1000))
    page = page_of(run)
    assert '<table class="matrix">' not in page.html
    assert "1,000 classes occur, in 1,000 pairs" in page.part("matrix")
    assert page.part("matrix").count("class ") >= 80
    assert len(page.data["cells"]) == 1000


@pytest.mark.parametrize("count", [0, 1, 19])
def test_small_runs(tmp_path: Path, count: int) -> None:
    page = page_of(write_run(tmp_path / "run", Plan(count=count)))
    for name in SECTIONS:
        assert page.part(name)
    if not count:
        assert "found no image" in page.verdict[1]
    else:
        assert "too few" in page.part("map")


def test_a_run_without_anything_but_its_archive(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path / "run", Plan()))
    assert "could not be measured" in page.verdict[0]
    assert "None of the 120 triggers is labelled" in page.part("labels")
    assert "are not filtered" in page.part("filters")
    assert "does not say which models" in page.part("again")
    assert "%" not in page.verdict[1]


def test_nothing_kept(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=60))
    reject(run, "ssim", range(60))
    page = page_of(run)
    assert "of which 0 pass the filters" in page.verdict[1]
    assert "so these are rejected ones" in page.part("map")


def test_outputs_that_are_no_classes(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path / "run", Plan(labelled=False, names=None)))
    assert "no classes" in page.part("matrix")
    assert "None of the 120" in page.part("labels")
    assert page.data["items"][0][0] == -1


def test_colour_images_larger_than_a_thumbnail(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=60, spec=ImageSpec(3, 96, 80)))
    page = page_of(run)
    assert page.data["sheet"][3:5] == [53, 64]
    assert "sharpness" in page.html or "No clusters" in page.part("clusters")


def test_a_model_that_is_gone_or_changed(tmp_path: Path, tested: dict[str, object]) -> None:
    run = write_run(tmp_path / "run", Plan(config=tested))
    shutil.copy(tmp_path / "b.onnx", tmp_path / "a.onnx")
    assert "a.onnx is no longer the model of this run" in page_of(run).part("pair")
    (tmp_path / "a.onnx").unlink()
    assert "There is no file" in page_of(run).part("pair")


@pytest.mark.parametrize("source", ["py:os:getcwd", "http://127.0.0.1:9/v2/models/x"])
def test_a_folder_makes_nobody_run_code_or_call_an_address(
    tmp_path: Path, tested: dict[str, object], source: str
) -> None:
    tested["models"]["a"] = {"source": source}  # type: ignore[index]
    page = page_of(write_run(tmp_path / "run", Plan(config=tested)))
    assert "not opened for a report" in page.part("pair")


def test_models_that_are_open_are_asked(tmp_path: Path, tested: dict[str, object]) -> None:
    models = (load_classifier(tmp_path / "a.onnx"), load_classifier(tmp_path / "b.onnx"))
    tested["models"]["a"] = {"source": "py:some:thing"}  # type: ignore[index]
    run = write_run(tmp_path / "run", Plan(config=tested))
    made = write_report(run, models=models, data=load_dataset("digits:test")).read_text(encoding="utf-8")
    assert "which is" in Page(made).verdict[0]


def test_damaged_files_beside_the_archive(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan())
    for name in ("config.yaml", "summary.json", "environment.json"):
        (run / name).write_text("[1, {", encoding="utf-8")
    assert page_of(run).part("again")
    (run / "config.yaml").write_text("models: 3\ndata: [1]\ngenerator: x\nbudget: 5\n", encoding="utf-8")
    (run / "summary.json").write_text('{"queries": {"a": "x"}, "models": [], "time_share": 4, "filters": 1}', "utf-8")
    (run / "environment.json").write_text('{"command": 4, "packages": [1]}', encoding="utf-8")
    assert page_of(run).part("again")


def test_what_comes_from_files_is_text(tmp_path: Path, tested: dict[str, object]) -> None:
    tested["strategy"] = {"name": EVIL, "settings": {EVIL: EVIL}}
    tested["generator"] = {"name": EVIL, "source": EVIL}
    names = [f"{number}{EVIL}" for number in range(10)]
    run = write_run(tmp_path / "run", Plan(config=tested, names=names))
    reject(run, EVIL, range(5))
    label(run, EVIL, range(5), [1] * 5)
    page = page_of(run, compare=run)
    assert [name for _, name, _ in page.tags.attributes if name.startswith("on")] == []
    assert not [1 for tag, name, _ in page.tags.attributes if tag == "img" or name == "style"]
    assert page.html.count("<script") == page.html.count("</script>") == 2
    assert page.data["names"]["0"] == names[0]


def test_the_policy_names_the_style_and_the_script_and_nothing_is_fetched(tmp_path: Path) -> None:
    page = page_of(write_run(tmp_path / "run", Plan()))
    policy = next(value for tag, name, value in page.tags.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page.html, re.S)[0]
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    links = [value for _, name, value in page.tags.attributes if name in ("href", "src")]
    assert all(link.startswith(("#", "data:image/")) for link in links)


def test_rates_of_labels_only_where_they_are_a_random_sample(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=400))
    label(run, "ann", range(60), [1] * 60)  # the first found, and not at random
    assert "no rate: the labelled ones are not spread evenly" in page_of(run).part("labels")
    chosen = np.sort(np.random.default_rng(1).choice(400, 60, replace=False)).tolist()
    other = write_run(tmp_path / "other", Plan(count=400))
    label(other, "judge:m", chosen, [None if number % 2 else 1 for number in chosen])
    said = page_of(other).part("labels")
    assert re.search(r"\d+ of 60 labelled 400 [\d.]+ % \(95 % interval ", said)
    assert "60 by judges alone" in said


def test_no_rate_where_rare_kinds_are_labelled_as_often_as_frequent_ones(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=400))
    of_one_kind = [number for number in range(400) if number % 5 == 2]  # over the whole order of discovery
    label(run, "ann", of_one_kind[:60:2] + of_one_kind[60:], [1] * (30 + len(of_one_kind) - 60))
    assert "the labelled ones are of other kinds" in page_of(run).part("labels")


def test_two_runs_side_by_side(tmp_path: Path, tested: dict[str, object]) -> None:
    run = write_run(tmp_path / "run", Plan(config=tested))
    other = write_run(tmp_path / "other", Plan(count=60, config={**tested, "seed": 8}))
    said = page_of(run, compare=other).part("beside")
    assert "unique triggers 120 60" in said
    assert "seed 7 8" in said
    assert "other models" not in said
    with Archive.open(run / "archive.db") as first, Archive.open(other / "archive.db") as second:
        shared = len(np.intersect1d(first.column("ids"), second.column("ids")))
    assert f"triggers in both {shared}" in said
    assert "0 / 1 24 12" in said
    empty = write_run(tmp_path / "empty", Plan(count=0, spec=ImageSpec(3, 4, 4), names=None))
    said = page_of(run, compare=empty).part("beside")
    assert "of other models or other data" in said
    assert "the images differ in size" in said


def test_rates_from_the_prior_are_of_each_runs_own_generator(tmp_path: Path, tested: dict[str, object]) -> None:
    runs = []
    for name, seed in (("one", 1), ("two", 2)):
        generator = load_generator(write_generator(tmp_path / f"{name}.onnx", seed))
        described = {"name": name, "source": generator.source, "fingerprint": generator.fingerprint}
        runs.append(write_run(tmp_path / name, Plan(config={**tested, "generator": described})))
    page = page_of(runs[0], compare=runs[1])
    shares = re.findall(r"[\d.]+ % \(95 % interval [^)]*\), 4,000 images", page.part("beside"))
    assert len(shares) == len(set(shares)) == 2
    own = re.search(r"generator's prior 4,000 images [\d,]+ ([\d.]+ % \(95 % interval [^)]*\))", page.part("pair"))
    assert own is not None
    assert shares[0].startswith(own[1])


def test_a_selector_that_is_none(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=5))
    assert "holds no selector" in page_of(run, selector=tmp_path).part("labels")


def test_where_it_is_written(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=5))
    assert write_report(run) == run / "report.html"
    assert write_report(run, out=tmp_path / "new" / "r.html").is_file()
    with pytest.raises(DiffganError, match="is a folder"):
        write_report(run, out=tmp_path)
    with pytest.raises(DiffganError, match="holds no archive"):
        write_report(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
