"""Training: the same weights from the same seed, killed and gone on with; what is held out; alarms; refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DiffganError, GeneratorError, UsageError
from diffgan.gan_training import training as module
from diffgan.gan_training.alarms import SATURATED_FOR, Alarms, HopelessError
from diffgan.gan_training.augmentation import COPIES
from diffgan.gan_training.data import Batches, TrainingData, hold_out
from diffgan.gan_training.settings import TrainingSettings, read_settings
from diffgan.gan_training.trainer import Losses, Trainer
from diffgan.gan_training.training import Progress, Training, architecture_of, choose_device
from diffgan.generators.generator import load_generator

SMALL = TrainingSettings(steps=30, width=4, discriminator_width=4, batch=16, latent=8)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits:test")


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "generator.safetensors") | load_file(folder / "discriminator.safetensors")


def same(one: Path, two: Path) -> bool:
    first, second = weights(one), weights(two)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_training_leaves_a_generator_with_its_card(digits: Dataset, tmp_path: Path) -> None:
    card = Training(digits, SMALL, tmp_path / "g").run()
    generator = load_generator(tmp_path / "g")
    assert generator.data == digits.fingerprint
    assert generator.classes == 10
    assert card.training["steps_done"] == 30
    assert len(card.data.held_out) == 100
    for name in ("samples.png", "checkpoint.safetensors"):
        assert (tmp_path / "g" / name).stat().st_size > 0


def test_the_same_seed_gives_the_same_weights(digits: Dataset, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        Training(digits, SMALL, tmp_path / name, seed=seed).run()
    assert same(tmp_path / "one", tmp_path / "same")
    assert not same(tmp_path / "one", tmp_path / "other")


@pytest.mark.parametrize("kind", ["dcgan", "mlp"])
def test_an_interrupted_training_goes_on_to_the_same_weights(digits: Dataset, tmp_path: Path, kind: str) -> None:
    settings = SMALL.model_copy(update={"kind": kind})
    Training(digits, settings, tmp_path / "whole").run()

    def interrupt(now: Progress) -> None:
        if now.step == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Training(digits, settings, tmp_path / "parts").run(report=interrupt)
    Training(digits, settings, tmp_path / "parts").run(resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_an_interrupt_in_the_middle_of_an_update_waits_for_its_end(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The discriminator has learned then, and the generator has not."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    Training(digits, SMALL, tmp_path / "whole").run()
    update = Trainer._update_generator

    def interrupted(trainer: Trainer) -> float:
        if trainer.step_number == 11:
            signal.raise_signal(signal.SIGINT)
        return update(trainer)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(Trainer, "_update_generator", interrupted)
            with pytest.raises(KeyboardInterrupt):
                Training(digits, SMALL, tmp_path / "parts").run()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, former)
    Training(digits, SMALL, tmp_path / "parts").run(resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_a_training_that_was_killed_before_its_first_checkpoint_can_be_started_anew(
    digits: Dataset, tmp_path: Path
) -> None:
    def kill(now: Progress) -> None:
        if now.step == 55:
            raise SystemExit

    with pytest.raises(SystemExit):
        Training(digits, SMALL.model_copy(update={"steps": 60}), tmp_path / "g").run(report=kill)
    assert {entry.name for entry in (tmp_path / "g").iterdir()} == {"watch.html", "metrics.jsonl"}
    with pytest.raises(GeneratorError, match="no checkpoint to go on from: leave out --resume"):
        Training(digits, SMALL, tmp_path / "g").run(resume=True)
    (tmp_path / "g" / "samples.png").touch()  # it is written before the checkpoint, which a full disk may have refused
    Training(digits, SMALL.model_copy(update={"steps": 60}), tmp_path / "g").run()
    entries = [json.loads(line)["step"] for line in (tmp_path / "g" / "metrics.jsonl").read_text().splitlines()]
    assert entries == [50]


def test_classes_that_mostly_have_no_image_are_not_learned() -> None:
    """Of a thousand numbers ten are there: a generator would nearly always be asked for what nobody has shown it."""
    labels = np.arange(300) % 10 * 70
    images = np.random.default_rng(0).integers(0, 256, (300, 8, 8, 1), dtype=np.uint8)
    assert architecture_of(SMALL, Dataset.checked("few", images, labels)).classes is None
    assert architecture_of(SMALL, Dataset.checked("all", images, labels // 70)).classes == 10


def test_a_killed_training_goes_on_to_the_same_weights(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SMALL.model_copy(update={"steps": 60})
    Training(digits, settings, tmp_path / "whole").run()
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from diffgan.datasets import load_dataset\n"
        "from diffgan.gan_training import training\n"
        "from diffgan.gan_training.settings import TrainingSettings\n"
        "training.CHECKPOINT_EVERY = 10\n"
        f"settings = TrainingSettings.model_validate_json({settings.model_dump_json()!r})\n"
        "def report(now):\n"
        "    print(now.step, flush=True)\n"
        "training.Training(load_dataset('digits:test'), settings, Path(sys.argv[1])).run(report=report)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "killed")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if int(line) == 27:
                running.send_signal(signal.SIGKILL)
                break
        running.wait(timeout=60)
    monkeypatch.setattr(module, "CHECKPOINT_EVERY", 10)
    Training(digits, settings, tmp_path / "killed").run(resume=True)
    assert same(tmp_path / "whole", tmp_path / "killed")


def test_going_on_under_another_plan_shows_the_difference(digits: Dataset, tmp_path: Path) -> None:
    Training(digits, SMALL, tmp_path / "g").run()
    changed = SMALL.model_copy(update={"batch": 32})
    with pytest.raises(GeneratorError, match="batch was 16, is 32"):
        Training(digits, changed, tmp_path / "g").run(resume=True)
    with pytest.raises(GeneratorError, match="seed was 0, is 3"):
        Training(digits, SMALL, tmp_path / "g", seed=3).run(resume=True)


def test_a_folder_in_use_is_left_alone(digits: Dataset, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(GeneratorError, match="not empty"):
        Training(digits, SMALL, tmp_path).run()
    with pytest.raises(GeneratorError, match="no checkpoint to go on from"):
        Training(digits, SMALL, tmp_path / "new").run(resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_checkpoint_is_one_clear_line(digits: Dataset, tmp_path: Path) -> None:
    Training(digits, SMALL, tmp_path / "g").run()
    path = tmp_path / "g" / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(GeneratorError, match="is damaged"):
        Training(digits, SMALL, tmp_path / "g").run(resume=True)


def test_a_budget_ends_the_training(digits: Dataset, tmp_path: Path) -> None:
    start = time.perf_counter()
    card = Training(digits, SMALL, tmp_path / "g", budget=0.5).run()
    # Generous: the machine may pause; without a budget, the planned steps would go on for ever.
    assert time.perf_counter() - start < 30
    assert card.training["steps_done"] > 0


def test_what_is_held_out_is_never_trained_on(digits: Dataset) -> None:
    data = TrainingData.of(digits, seed=0)
    assert len(data.images) + len(data.held_out) == len(digits)
    kept = {image.tobytes() for image in data.images.numpy()}
    held = {image.tobytes() for image in digits.floats()[list(data.held_out)]}
    twins = sum(count - 1 for count in np.unique(digits.images.reshape(len(digits), -1), axis=0, return_counts=True)[1])
    assert len(kept & held) <= twins


def test_what_is_held_out_is_stratified_and_seeded() -> None:
    labels = np.repeat([0, 1, 2], [3000, 900, 100])
    rows = hold_out(labels, seed=0)
    assert len(rows) == 200
    assert np.abs(np.bincount(labels[rows]) - [150, 45, 5]).max() <= 1
    assert np.array_equal(rows, hold_out(labels, seed=0))
    assert not np.array_equal(rows, hold_out(labels, seed=1))


def test_an_epoch_goes_through_every_image_six_times(digits: Dataset) -> None:
    data = TrainingData.of(digits, seed=0)
    settings = read_settings(None, "digits").augmentation
    batches = Batches(data, settings, size=len(data) // 6, seed=0, generator=torch.Generator().manual_seed(0))
    seen = [batches.batch(number)[1] for number in range(COPIES)]
    counts = torch.bincount(torch.cat(seen), minlength=10)
    assert counts.tolist() == (COPIES * torch.bincount(data.labels, minlength=10)).tolist()


def test_a_batch_may_span_two_epochs(digits: Dataset) -> None:
    data = TrainingData.of(digits, seed=0)
    settings = read_settings(None, "digits").augmentation
    batches = Batches(data, settings, size=1000, seed=0, generator=torch.Generator().manual_seed(0))
    images, labels = batches.batch(len(data) // 1000)
    assert (len(images), len(labels)) == (1000, 1000)


def alarms_of(count: int) -> Alarms:
    return Alarms(torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.arange(count) % 10)


def losses(discriminator: float) -> Losses:
    return Losses(discriminator, 0.0, 1.0, -1.0)


def test_a_loss_that_is_no_number_ends_the_training() -> None:
    with pytest.raises(HopelessError, match="diverged at update 7"):
        alarms_of(10).on_losses(losses(float("nan")), 7)


def test_a_discriminator_that_is_always_right_ends_the_training() -> None:
    alarms = alarms_of(10)
    for step in range(SATURATED_FOR - 1):
        alarms.on_losses(losses(0.0), step)
    alarms.on_losses(losses(0.5), 0)
    for step in range(SATURATED_FOR - 1):
        alarms.on_losses(losses(0.0), step)
    with pytest.raises(HopelessError, match="told every image apart"):
        alarms.on_losses(losses(0.0), 9999)


def test_samples_that_are_all_alike_end_the_training() -> None:
    alarms = alarms_of(100)
    alarms.on_samples(torch.rand(100, 1, 8, 8), 5000)
    alike = torch.rand(1, 1, 8, 8).repeat(100, 1, 1, 1)
    alarms.on_samples(alike, 10)
    with pytest.raises(HopelessError, match="collapsed"):
        alarms.on_samples(alike, 5000)


def test_samples_of_few_classes_end_the_training(digits: Dataset) -> None:
    data = TrainingData.of(digits, seed=0)
    alarms = Alarms(data.images, data.labels)
    alarms.on_samples(data.images[:500], 5000)
    alarms.on_samples(data.images[data.labels < 5], 5000)
    with pytest.raises(HopelessError, match="6 of 10 classes are not among"):
        alarms.on_samples(data.images[data.labels < 4], 5000)


def test_a_hopeless_training_stops(digits: Dataset, tmp_path: Path) -> None:
    wild = SMALL.model_copy(update={"generator_rate": 1e30, "discriminator_rate": 1e30, "steps": 200})
    with pytest.raises(HopelessError):
        Training(digits, wild, tmp_path / "g").run()
    assert not (tmp_path / "g" / "card.json").exists()


def make(count: int, classes: int, side: int = 8, width: int | None = None) -> Dataset:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, side, width or side, 1), dtype=np.uint8)
    return Dataset.checked("made", images, np.arange(count) % classes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (make(150, 10), "needs at least 200"),
        (make(300, 300), "300 classes of typically 1 image, too few"),
        (make(300, 2, side=6), "sides of 8 to 64, not 1×6×6"),
        (make(300, 2, side=65), "resize the data"),
        (make(300, 2, side=8, width=10), "square"),
    ],
)
def test_data_that_makes_no_gan_says_why(data: Dataset, message: str, tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=message):
        Training(data, SMALL, tmp_path / "g")


def test_one_class_is_trained_without_classes(tmp_path: Path) -> None:
    card = Training(make(300, 1), SMALL, tmp_path / "g").run()
    assert card.architecture.classes is None


def test_a_gpu_that_is_not_there_says_what_is() -> None:
    assert choose_device("cpu").type == "cpu"
    missing = next(kind for kind in ("mps", "cuda", "xpu") if kind != choose_device("auto").type)
    with pytest.raises(UsageError, match=f"no device {missing} here; there is: .*cpu"):
        choose_device(missing)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gan: {batch: 1}", "gan|batch"),
        ("gan: {stepz: 1}", "stepz"),
        ("gan: 3", "holds a int"),
        ("- 1", "holds a list"),
        ("{", "cannot be read"),
        ("augmentation: {shift: 2}", "shift"),
    ],
)
def test_a_configuration_that_does_not_fit_says_why(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(DiffganError, match=message):
        read_settings(str(path), "digits")


def test_a_configuration_is_read_by_file_name_or_datas_own(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("gan: {width: 9}\naugmentation: {shift: 0.2}\n")
    assert read_settings(str(path), "digits").width == 9
    assert read_settings(str(path), "digits").augmentation.shift == 0.2
    assert read_settings(str(path), "digits").augmentation.blur == (0.2, 0.4)
    assert read_settings(None, "digits:test").augmentation.blur == (0.2, 0.4)
    assert read_settings(None, "some/file.npz") == TrainingSettings()
    with pytest.raises(UsageError, match="no configuration 'nope'"):
        read_settings("nope", "digits")


def test_one_image_of_each_class_trains_without_classes(tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"conditional": False})
    assert Training(make(300, 300), settings, tmp_path / "g").run().architecture.classes is None


def test_a_patch_that_small_images_have_no_room_for_is_made_smaller(digits: Dataset, tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"patch": 4})
    assert Training(digits, settings, tmp_path / "g").run().architecture.patch == 2
    assert load_generator(tmp_path / "g").sample(3, np.random.default_rng(0))[0].shape == (3, 8, 8, 1)


def test_a_preset_keeps_the_datas_own_augmentation() -> None:
    lean = read_settings("lean", "digits")
    assert lean.patch == 4
    assert lean.augmentation == read_settings(None, "digits").augmentation


@pytest.mark.parametrize("budget", [None, 0.01])
def test_going_on_with_a_finished_training_changes_nothing(
    digits: Dataset, tmp_path: Path, budget: float | None
) -> None:
    folder = tmp_path / "g"
    Training(digits, SMALL, folder, budget=budget).run()
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "scores": {"fid": 1.5}}))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = Training(digits, SMALL, folder, budget=budget).run(resume=True)
    assert again.scores == {"fid": 1.5}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # Broken off before the artifact was whole: it is made now, and of no more updates.
    (folder / "card.json").unlink()
    assert Training(digits, SMALL, folder, budget=budget).run(resume=True).training == again.training
    assert (folder / "generator.safetensors").read_bytes() == before["generator.safetensors"]


def test_going_on_makes_no_entry_twice(digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECKPOINT_EVERY", 40)
    settings = SMALL.model_copy(update={"steps": 120})

    def interrupt(now: Progress) -> None:
        if now.step == 70:
            raise SystemExit

    with pytest.raises(SystemExit):
        Training(digits, settings, tmp_path / "g").run(report=interrupt)
    with (tmp_path / "g" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 7')
    assert "renews itself" in (tmp_path / "g" / "watch.html").read_text()
    Training(digits, settings, tmp_path / "g").run(resume=True)
    entries = [json.loads(line) for line in (tmp_path / "g" / "metrics.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries] == [50, 100]
    assert "renews itself" not in (tmp_path / "g" / "watch.html").read_text()


def test_the_curves_are_lines_of_json(digits: Dataset, tmp_path: Path) -> None:
    Training(digits, SMALL.model_copy(update={"steps": 100}), tmp_path / "g").run()
    entries = [json.loads(line) for line in (tmp_path / "g" / "metrics.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries] == [50, 100]
    assert (tmp_path / "g" / "losses.png").exists()
