"""Keras models: the answers of the model in memory, whatever the file's form; errors in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.errors import MissingExtraError, ModelError
from diffgan.models.keras import KerasRuntime, adapter
from diffgan.models.options import ModelOptions


@pytest.fixture(scope="module")
def keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    pytest.importorskip("h5py", reason="the extra keras is not installed")
    module = pytest.importorskip("keras", reason="the extra keras is not installed")
    module.utils.set_random_seed(7)
    return module


def _sequential(keras: Any) -> Any:
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Flatten(name="flat"),
            layers.Dense(5, activation="softmax", name="classes"),
        ]
    )


def _functional(keras: Any) -> Any:
    """Two outputs, a nested and compiled model, a shared layer, regularisers, and a reused input."""
    layers = keras.layers
    inner = keras.Sequential([keras.Input((8, 8, 4)), layers.DepthwiseConv2D(3, padding="same")], name="inner")
    inner.compile("adam", "mse")
    image = keras.Input((8, 8, 1), name="image")
    shared = layers.Conv2D(4, 3, padding="same", kernel_regularizer="l2", activation="gelu")
    hidden = layers.Add()([inner(shared(layers.Rescaling(2.0, -1.0)(image))), shared(image)])
    pooled = layers.GlobalAveragePooling2D(name="pooled")(layers.LeakyReLU()(hidden))
    classes = layers.Dense(5, activation="softmax", name="classes")(pooled)
    model = keras.Model(image, [classes, layers.Dense(3, name="other")(pooled)])
    model.compile("adam", "mse")
    return model


def _images(count: int, *shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(3).random((count, *(shape or (8, 8, 1))), dtype=np.float32)


def _save(model: Any, path: Path) -> str:
    model.save(str(path))
    return str(path)


def _load(source: str, **options: Any) -> KerasRuntime:
    return adapter.load(source, ModelOptions(**options))


def _answers(keras: Any, model: Any, images: NDArray[np.float32], output: int = 0) -> NDArray[np.float32]:
    answer = model(images, training=False)
    chosen = answer[output] if isinstance(answer, (list, tuple)) else answer
    numbers: NDArray[np.float32] = keras.ops.convert_to_numpy(chosen)
    return numbers


@pytest.mark.parametrize("count", [1, 7, 32])
@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("kind", ["sequential", "functional"])
def test_answers_are_those_of_the_model_in_memory(
    keras: Any, tmp_path: Path, kind: str, ending: str, count: int
) -> None:
    model = _sequential(keras) if kind == "sequential" else _functional(keras)
    runtime = _load(_save(model, tmp_path / f"model{ending}"))
    images = _images(count)
    answers, features = runtime.run(images)
    np.testing.assert_array_equal(answers, _answers(keras, model, images))
    assert features is None
    assert (runtime.layout, runtime.input_shape, runtime.batch) == ("NHWC", (None, 8, 8, 1), None)


def test_graphs_of_operators_are_answered(keras: Any, tmp_path: Path) -> None:
    image = keras.Input((8, 8, 1))
    scaled = keras.ops.relu(keras.ops.reshape(image * 2.0 - 1.0, (-1, 64))[:, 3:60])
    model = keras.Model(image, keras.layers.Dense(5)(scaled))
    answers = _load(_save(model, tmp_path / "model.keras")).run(_images(3))[0]
    np.testing.assert_array_equal(answers, _answers(keras, model, _images(3)))


@pytest.mark.parametrize("name", ["MobileNetV3Small", "EfficientNetV2B0", "ConvNeXtTiny"])
def test_models_of_keras_applications_pass(keras: Any, name: str) -> None:
    from diffgan.models.keras_safety import vet_config

    model = getattr(keras.applications, name)(weights=None, input_shape=(32, 32, 3), classes=4)
    vet_config(Path("model.keras"), keras.saving.serialize_keras_object(model))


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_outputs_by_name_and_number(keras: Any, tmp_path: Path, ending: str) -> None:
    model = _functional(keras)
    source = _save(model, tmp_path / f"model{ending}")
    for name, position in [("classes", 0), ("other", 1), ("0", 0), ("1", 1)]:
        answers = _load(source, output_name=name).run(_images(4))[0]
        np.testing.assert_array_equal(answers, _answers(keras, model, _images(4), position))


@pytest.mark.parametrize(("kind", "layer"), [("sequential", "flat"), ("functional", "pooled"), ("functional", "inner")])
def test_features_are_a_layers_output(keras: Any, tmp_path: Path, kind: str, layer: str) -> None:
    model = _sequential(keras) if kind == "sequential" else _functional(keras)
    runtime = _load(_save(model, tmp_path / "model.keras"), features_name=layer)
    answers, features = runtime.run(_images(6), features=True)
    expected = keras.Model(model.inputs[0], model.get_layer(layer).output)
    np.testing.assert_array_equal(answers, runtime.run(_images(6))[0])
    if layer != "inner":
        np.testing.assert_array_equal(features, _answers(keras, expected, _images(6)))
    assert features is not None
    assert features.shape[0] == 6


def test_channels_first_models_say_so(keras: Any, tmp_path: Path) -> None:
    layers = [keras.layers.Conv2D(2, 3, data_format="channels_first"), keras.layers.Flatten(), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((1, 8, 8)), keras.Sequential(layers)])
    runtime = _load(_save(model, tmp_path / "model.keras"))
    assert runtime.layout == "NCHW"
    assert runtime.run(_images(2, 1, 8, 8))[0].shape == (2, 3)


def test_a_fixed_batch_is_stated(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input(batch_shape=(4, 8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(3)])
    runtime = _load(_save(model, tmp_path / "model.keras"))
    assert (runtime.batch, runtime.input_shape) == (4, (4, 8, 8, 1))
    assert _load(_save(_sequential(keras), tmp_path / "free.keras"), batch=16).batch == 16


def test_byte_inputs_are_rounded_not_cut(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((1, 2, 1), dtype="uint8"), keras.layers.Flatten()])
    path = _save(model, tmp_path / "model.keras")
    with pytest.raises(ModelError, match=r"whole numbers \(uint8\).*say range=\[0, 255\]"):
        _load(path)
    runtime = _load(path, range=(0, 255))
    given = np.array([3.7, 300.0], dtype=np.float32).reshape(1, 1, 2, 1)
    assert runtime.run(given)[0].astype(int).tolist() == [[4, 255]]


def test_files_of_a_model_not_built_have_no_input(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.layers.Flatten()])
    with pytest.warns(UserWarning, match="not yet been built"):
        source = _save(model, tmp_path / "model.keras")
    with pytest.raises(ModelError, match="call it once, and save it again"):
        _load(source)


def test_reduced_precision_is_answered(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(3, dtype="bfloat16")])
    answers = _load(_save(model, tmp_path / "model.keras")).run(_images(2))[0]
    assert answers.dtype == np.float32
    np.testing.assert_array_equal(answers, _answers(keras, model, _images(2)).astype(np.float32))


def test_several_inputs_are_refused(keras: Any, tmp_path: Path) -> None:
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    model = keras.Model([left, right], keras.layers.Add()([left, right]))
    with pytest.raises(ModelError, match="takes 2 inputs; expected one, of images"):
        _load(_save(model, tmp_path / "model.keras"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_name": "x"}, r"no input 'x' \(input_name\); it has: image"),
        ({"output_name": "2"}, r"no output '2' \(output_name\); it has: classes, other"),
        ({"features_name": "z"}, r"no features 'z' \(features_name\); it has: image, .*pooled"),
    ],
)
def test_unknown_names_list_the_known(keras: Any, tmp_path: Path, options: dict[str, str], message: str) -> None:
    source = _save(_functional(keras), tmp_path / "model.keras")
    with pytest.raises(ModelError, match=message):
        _load(source, **options)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_a_file_cut_short_is_one_clear_line(keras: Any, tmp_path: Path, ending: str, share: float) -> None:
    path = Path(_save(_sequential(keras), tmp_path / f"model{ending}"))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelError, match=r"model\.(keras|h5) (is empty|is no complete|holds no complete)") as caught:
        _load(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_missing_and_foreign_files(keras: Any, tmp_path: Path, ending: str) -> None:
    assert keras
    with pytest.raises(ModelError, match="There is no file"):
        _load(str(tmp_path / f"none{ending}"))
    (tmp_path / f"foreign{ending}").write_text("something else altogether\n" * 99)
    with pytest.raises(ModelError, match="complete"):
        _load(str(tmp_path / f"foreign{ending}"))


def test_weights_without_a_model_are_told_apart(keras: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.weights.h5"
    _sequential(keras).save_weights(str(path))
    with pytest.raises(ModelError, match=r"only weights: save the whole model with model\.save"):
        _load(str(path))


def test_threads_are_left_alone_unless_asked_for(keras: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    source = _save(_sequential(keras), tmp_path / "model.keras")
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr("diffgan.models.keras.available_cores", lambda: 4)
    for current, threads in [(3, None), (8, None), (3, 2)]:
        monkeypatch.setattr(torch, "get_num_threads", lambda current=current: current)
        _load(source, threads=threads)
    assert asked == [4, 2]


def test_a_closed_model_does_not_answer(keras: Any, tmp_path: Path) -> None:
    runtime = _load(_save(_sequential(keras), tmp_path / "model.keras"))
    runtime.close()
    with pytest.raises(ModelError, match="was closed"):
        runtime.run(_images(1))


def test_other_backends_answer_through_predict_on_batch(
    keras: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _save(_functional(keras), tmp_path / "model.keras")
    by_torch = _load(source, features_name="pooled").run(_images(3), features=True)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    otherwise = _load(source, features_name="pooled").run(_images(3), features=True)
    for one, other in zip(by_torch, otherwise, strict=True):
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("module", ["keras", "h5py"])
def test_without_the_extra_its_name_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package {module}.*diffgan\[keras\]"):
        _load(str(tmp_path / "any.keras"))


def test_an_absent_backend_is_named(keras: Any, tmp_path: Path) -> None:
    assert keras
    code = (
        "import sys; sys.modules['jax'] = None; from diffgan.models.keras import adapter; "
        "from diffgan.models.options import ModelOptions; adapter.load(sys.argv[1], ModelOptions())"
    )
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    command = [sys.executable, "-c", code, str(tmp_path / "any.keras")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "ModelError: Keras cannot start with KERAS_BACKEND=jax" in done.stderr


def test_accepts_by_ending_only() -> None:
    assert all(adapter.accepts(f"nowhere/model{ending}") for ending in (".keras", ".h5", ".H5", ".hdf5"))
    assert not adapter.accepts("model.keras.onnx")
