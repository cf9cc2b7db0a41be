"""The cache of trained generators: found again, trained once, gone on with, replaced where it is damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError
from diffgan.gan_training.alarms import HopelessError
from diffgan.gan_training.cached import cache_key, cached_generator, find_cached, remember, take_cached
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.training import Progress, Training
from diffgan.generators.generator import load_generator
from diffgan.locks import locked

SMALL = TrainingSettings(steps=12, width=4, discriminator_width=4, batch=16, latent=8)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFGAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset.checked("made", rng.integers(0, 256, (300, 8, 8, 1), dtype=np.uint8), np.arange(300) % 3)


def same(one: Path, two: Path) -> bool:
    first, second = (load_file(folder / "generator.safetensors") for folder in (one, two))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_the_same_generator_is_trained_once(tmp_path: Path) -> None:
    told: list[Progress] = []
    first = cached_generator(made(), SMALL, seed=1, report=told.append)
    again = cached_generator(made(), SMALL, seed=1, report=told.append)
    assert (first.reused, again.reused) == (False, True)
    assert first.folder == again.folder
    assert len(told) == SMALL.steps
    assert load_generator(again.folder).data == made().fingerprint
    Training(made(), SMALL, tmp_path / "own", seed=1).run()
    assert same(tmp_path / "own", first.folder)
    left = [path.name for path in first.folder.parent.iterdir() if not path.name.endswith(".lock")]
    assert left == [first.folder.name]
    assert not (first.folder / "checkpoint.safetensors").exists()


def test_what_matters_makes_another_key() -> None:
    longer = SMALL.model_copy(update={"steps": 13})
    keys = [
        cache_key(made(), SMALL, seed=0),
        cache_key(made(1), SMALL, seed=0),
        cache_key(made(), SMALL, seed=1),
        cache_key(made(), longer, seed=0),
        cache_key(made(), SMALL.model_copy(update={"width": 5}), seed=0),
        cache_key(made(), SMALL, seed=0, budget=60.0),
        cache_key(made(), SMALL, seed=0, budget=61.0),
    ]
    assert len(set(keys)) == len(keys)
    assert cache_key(made(), longer, seed=0, budget=60.0) == cache_key(made(), SMALL, seed=0, budget=60.0)
    other_name = Dataset("other", made().images, made().labels, made().classes)
    assert cache_key(other_name, SMALL, seed=0) == keys[0]


def test_a_training_is_remembered_and_found(tmp_path: Path) -> None:
    key = cache_key(made(), SMALL, seed=0)
    assert find_cached(key) is None
    Training(made(), SMALL, tmp_path / "g").run()
    kept = remember(tmp_path / "g", key)
    assert kept is not None
    assert find_cached(key) == kept
    assert same(kept, tmp_path / "g")
    assert (kept / "samples.png").exists()
    assert take_cached(key, tmp_path / "copy") == kept
    assert load_generator(tmp_path / "copy").latent == 8
    assert take_cached("0" * 32, tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
    with pytest.raises(GeneratorError, match="not empty"):
        take_cached(key, tmp_path / "copy")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(GeneratorError, match="not empty"):
        take_cached(key, tmp_path / "file")
    with pytest.raises(GeneratorError, match="cannot be copied"):
        take_cached(key, tmp_path / "file" / "below")


@pytest.mark.parametrize("name", ["generator.safetensors", "discriminator.safetensors", "card.json"])
def test_a_damaged_entry_is_ignored_and_replaced(name: str) -> None:
    entry = cached_generator(made(), SMALL).folder
    whole = (entry / name).read_bytes()
    (entry / name).write_bytes(whole[: len(whole) // 2])
    assert find_cached(entry.name) is None
    again = cached_generator(made(), SMALL)
    assert not again.reused
    assert find_cached(entry.name) == entry


def test_a_cache_that_cannot_be_written_is_no_failure_of_a_training(tmp_path: Path, empty_cache: Path) -> None:
    Training(made(), SMALL, tmp_path / "g").run()
    empty_cache.write_text("a file where the folder should be")
    assert find_cached("0" * 32) is None
    assert remember(tmp_path / "g", cache_key(made(), SMALL, seed=0)) is None
    with pytest.raises(GeneratorError, match="set DIFFGAN_CACHE"):
        cached_generator(made(), SMALL)


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    seen: list[int] = []

    def interrupt(now: Progress) -> None:
        seen.append(now.step)
        if now.step == 5 and seen.count(5) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_generator(made(), SMALL, report=interrupt)
    assert find_cached(cache_key(made(), SMALL, seed=0)) is None
    folder = cached_generator(made(), SMALL, report=interrupt).folder
    assert seen == [*range(1, 6), *range(6, 13)]
    Training(made(), SMALL, tmp_path / "whole").run()
    assert same(folder, tmp_path / "whole")


def test_a_damaged_checkpoint_means_training_anew(empty_cache: Path) -> None:
    def interrupt(now: Progress) -> None:
        if now.step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_generator(made(), SMALL, report=interrupt)
    (checkpoint,) = empty_cache.rglob("checkpoint.safetensors")
    checkpoint.write_bytes(b"nothing of use")
    assert not cached_generator(made(), SMALL).reused


def test_a_hopeless_training_says_so_again_and_again() -> None:
    wild = SMALL.model_copy(update={"generator_rate": 1e30, "discriminator_rate": 1e30, "steps": 200})
    for _ in range(2):
        with pytest.raises(HopelessError, match="diverged"):
            cached_generator(made(), wild)


def test_two_processes_train_it_once(empty_cache: Path) -> None:
    code = (
        "import numpy as np\n"
        "from diffgan.datasets import Dataset\n"
        "from diffgan.gan_training.cached import cached_generator\n"
        "from diffgan.gan_training.settings import TrainingSettings\n"
        "images = np.random.default_rng(0).integers(0, 256, (300, 8, 8, 1), dtype=np.uint8)\n"
        "data = Dataset.checked('made', images, np.arange(300) % 3)\n"
        f"settings = TrainingSettings.model_validate_json({SMALL.model_dump_json()!r})\n"
        "print(cached_generator(data, settings).reused)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=120)[0].strip() for process in both]
    assert sorted(told) == ["False", "True"]
    assert find_cached(cache_key(made(), SMALL, seed=0)) is not None


def test_a_lock_is_free_again_when_its_holder_has_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in between"), locked(tmp_path / "lock"):
        raise ValueError("in between")
    with locked(tmp_path / "lock"):
        assert (tmp_path / "lock").exists()
