"""TorchScript, exported programs, and modules in memory."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.images import ImageSpec
from diffgan.models import load_classifier
from diffgan.models.options import ModelOptions
from diffgan.models.torch_runtime import TorchRuntime
from diffgan.testing import ClassifierConformance


class Net(torch.nn.Module):
    """Convolution, dropout (to see evaluation mode), dense layer, softmax."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.convolution = torch.nn.Conv2d(1, 3, 3)
        self.dropout = torch.nn.Dropout(0.5)
        self.dense = torch.nn.Linear(12, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = self.dropout(torch.relu(self.convolution(images))).flatten(1)
        return torch.softmax(self.dense(hidden), dim=1)


class TwoHeads(Net):
    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
        hidden = torch.relu(self.convolution(images)).flatten(1)
        return hidden, torch.softmax(self.dense(hidden), dim=1)


def expected(images: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return np.asarray(Net().eval()(torch.from_numpy(images)).numpy())


def script(path: Path, module: torch.nn.Module) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(module.eval(), torch.rand(2, 1, 4, 4)).save(str(path))  # type: ignore[no-untyped-call]
    return path


def export(path: Path, module: torch.nn.Module, *, batch: int | None = None) -> Path:
    shapes = None if batch else ({0: torch.export.Dim("n")},)
    program = torch.export.export(module.eval(), (torch.rand(batch or 2, 1, 4, 4),), dynamic_shapes=shapes)
    torch.export.save(program, path)
    return path


class Small(ClassifierConformance):
    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(1, 4, 4)


class TestTorchScriptConformance(Small):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return script(tmp_path / "m.pt", Net())


class TestExportedConformance(Small):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return export(tmp_path / "m.pt2", Net())


class TestExportedFixedBatchConformance(Small):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return export(tmp_path / "m.pt2", Net(), batch=3)


class TestModuleConformance(Small):
    @pytest.fixture
    def source(self) -> torch.nn.Module:
        return Net().train()


def test_all_three_answer_as_the_module_does_in_evaluation_mode(tmp_path: Path, images: np.ndarray) -> None:
    for source in (script(tmp_path / "m.ts", Net()), export(tmp_path / "m.pt2", Net()), Net().train()):
        assert np.allclose(load_classifier(source).predict(images), expected(images), atol=1e-6)


def test_an_exported_program_declares_its_input(tmp_path: Path) -> None:
    classifier = load_classifier(export(tmp_path / "m.pt2", Net()))
    assert classifier.declared_spec == ImageSpec(1, 4, 4)
    with pytest.raises(ModelError, match="takes images of 1×4×4, but was given 3×4×4"):
        load_classifier(tmp_path / "m.pt2", spec=ImageSpec(3, 4, 4))


def test_a_wrong_number_of_channels_is_one_clear_line(tmp_path: Path) -> None:
    path = script(tmp_path / "m.pt", Net())
    with pytest.raises(ModelError, match=r"m\.pt failed on batch 1") as caught:
        load_classifier(path, spec=ImageSpec(3, 4, 4))
    assert "channels" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_of_several_outputs_by_number(images: np.ndarray) -> None:
    options = {"output_name": "1", "features_name": "0"}
    answers, features = load_classifier(TwoHeads(), options=options).predict_with_features(images)
    assert (answers.shape, features.shape) == ((9, 5), (9, 12))
    with pytest.raises(ModelError, match="has 2 outputs, numbered from 0"):
        load_classifier(TwoHeads(), options={"output_name": "2"}, spec=ImageSpec(1, 4, 4))
    with pytest.raises(ModelError, match="names nothing"):
        load_classifier(Net(), options={"output_name": "logits"}, spec=ImageSpec(1, 4, 4))


def test_one_of_several_outputs_by_name(images: np.ndarray) -> None:
    class Named(Net):
        def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:  # type: ignore[override]
            return {"features": images, "probabilities": super().forward(images)}

    answers = load_classifier(Named(), options={"output_name": "probabilities"}).predict(images)
    assert np.allclose(answers, expected(images), atol=1e-6)
    with pytest.raises(ModelError, match="answers features, probabilities, not output_name 'logits'"):
        load_classifier(Named(), options={"output_name": "logits"}, spec=ImageSpec(1, 4, 4))


class Payload:
    """Harmless, but it would be seen: unpickling makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.marker,)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("ending", ["pt", "ts"])
def test_a_pickle_with_this_ending_is_refused_and_not_run(tmp_path: Path, ending: str, legacy: bool) -> None:
    path = tmp_path / f"m.{ending}"
    torch.save(Payload(tmp_path / "ran"), path, _use_new_zipfile_serialization=not legacy)
    with pytest.raises(UnsafeFileError, match=r"pickled .* export the model with"):
        load_classifier(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("ending", ["pth", "pkl", "joblib", "ckpt", "safetensors"])
def test_weights_and_pickles_say_how_to_export(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"m.{ending}"
    torch.save(Payload(tmp_path / "ran"), path)
    with pytest.raises(ModelError, match=r"torch\.onnx\.export"):
        load_classifier(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("ending", ["pt", "ts", "pt2"])
@pytest.mark.parametrize("keep", [0.0, 0.01, 0.5, 0.95])
def test_a_truncated_file_is_one_clear_line(tmp_path: Path, ending: str, keep: float) -> None:
    path = tmp_path / f"m.{ending}"
    (export if ending == "pt2" else script)(path, Net())
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(ModelError, match=rf"m\.{ending}") as caught:
        load_classifier(path)
    assert "\n" not in str(caught.value)


def test_another_zip_with_this_ending_is_one_clear_line(tmp_path: Path) -> None:
    import zipfile

    for name in ("m.pt", "m.pt2"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("top/readme.txt", "no model")
        with pytest.raises(ModelError, match=r"no TorchScript file|no exported program"):
            load_classifier(tmp_path / name)


def test_an_exported_program_under_the_wrong_ending_says_so(tmp_path: Path) -> None:
    path = export(tmp_path / "m.pt2", Net()).rename(tmp_path / "m.pt")
    with pytest.raises(ModelError, match=r"rename it to m\.pt2"):
        load_classifier(path)


def test_torch_keeps_to_its_threads_and_gives_them_back(images: np.ndarray) -> None:
    seen: list[int] = []

    class Spy(Net):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(torch.get_num_threads())
            return super().forward(images)

    before = torch.get_num_threads()
    load_classifier(Spy(), options={"threads": 1}).predict(images)
    assert seen == [1]
    assert torch.get_num_threads() == before


def test_one_thread_is_one_core(testbed: Path) -> None:
    classifier = load_classifier(testbed / "models" / "mnist_lenet5.pt", options={"threads": 1})
    images = np.random.default_rng(0).random((1024, 1, 28, 28), dtype=np.float32)
    classifier.predict(images)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(20):
        classifier.predict(images)
    assert (time.process_time() - cpu) / (time.perf_counter() - wall) < 1.3


def test_a_closed_model_says_so(images: np.ndarray) -> None:
    classifier = load_classifier(Net())
    classifier.close()
    with pytest.raises(ModelError, match="was closed"):
        classifier.predict(images)
    assert isinstance(classifier._runtime, TorchRuntime)


class Elsewhere(Net):
    """Remembers how many images it was shown at a time; its unused weights may be on another device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(1, device=device))
        self.shown: list[int] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.shown.append(len(images))
        return super().forward(images)


@pytest.mark.parametrize(("device", "shown"), [("cpu", [234, 234, 232]), ("meta", [700])])
def test_a_batch_is_answered_in_parts_unless_a_module_computes_elsewhere(device: str, shown: list[int]) -> None:
    images = np.random.default_rng(0).random((700, 1, 4, 4), dtype=np.float32)
    module = Elsewhere(device).eval()
    answers, _ = TorchRuntime(module, ModelOptions(threads=2), name="module").run(images)
    assert module.shown == shown
    assert np.allclose(answers, expected(images), atol=1e-6)
