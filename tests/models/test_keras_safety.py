"""Keras files that could run code or read other files: each carries a harmless payload, which must not run."""

from __future__ import annotations

import importlib
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models import keras_parts
from diffgan.models.keras import adapter
from diffgan.models.options import ModelOptions

Entry = dict[str, Any]


@pytest.fixture(scope="module")
def keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    pytest.importorskip("h5py", reason="the extra keras is not installed")
    return pytest.importorskip("keras", reason="the extra keras is not installed")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that a payload would create."""
    return tmp_path / "the-payload-ran"


@pytest.fixture
def good(keras: Any, tmp_path: Path) -> Path:
    """A harmless .keras file; `good.with_suffix(".h5")` is the same model."""
    layers = [keras.layers.Flatten(name="flat"), keras.layers.Dense(3, name="dense")]
    model = keras.Sequential([keras.Input((4, 4, 1)), *layers])
    model.save(str(tmp_path / "model.keras"))
    model.save(str(tmp_path / "model.h5"))
    return tmp_path / "model.keras"


def _load(path: Path) -> Any:
    return adapter.load(str(path), ModelOptions())


def _refuses(path: Path, message: str) -> str:
    with pytest.raises(UnsafeFileError, match=message) as caught:
        _load(path)
    said = str(caught.value)
    assert str(path) in said
    assert "onnx" in said
    return said


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _edit(path: Path, edit: Callable[[Entry], None]) -> None:
    """Changes the configuration of a .keras or .h5 file."""
    import h5py

    if path.suffix == ".keras":
        members = _members(path)
        config = json.loads(members["config.json"])
        edit(config)
        _write(path, members | {"config.json": json.dumps(config).encode()})
        return
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        edit(config)
        file.attrs["model_config"] = json.dumps(config)


def _dense(config: Entry) -> Entry:
    dense: Entry = config["config"]["layers"][-1]
    return dense


def _marking_lambda(marker: Path) -> Any:
    return eval(f"lambda x: (open({str(marker)!r}, 'w').close(), x)[1]")


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_lambda_layers_do_not_run(
    keras: Any, tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch, ending: str, wrapped: bool
) -> None:
    monkeypatch.setattr("inspect.getsource", lambda _: "a lambda")
    layer = keras.layers.Lambda(_marking_lambda(marker), name="sly")
    parts = [keras.Input((4, 4, 1)), keras.Sequential([layer]) if wrapped else layer]
    path = tmp_path / f"model{ending}"
    keras.Sequential(parts).save(str(path))
    marker.unlink()
    said = _refuses(path, r"its Lambda \('sly'\) carries Python code, which would run")
    assert "built-in layers" in said
    assert not marker.exists()
    # The payload is live: whoever switches the safety off runs it.
    keras.models.load_model(str(path), compile=False, safe_mode=False)(np.zeros((1, 4, 4, 1), np.float32))
    assert marker.exists()


def test_keras_own_global_switch_does_not_open_the_door(
    keras: Any, tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspect.getsource", lambda _: "a lambda")
    path = tmp_path / "model.keras"
    keras.Sequential([keras.Input((4,)), keras.layers.Lambda(_marking_lambda(marker))]).save(str(path))
    marker.unlink()
    keras.config.enable_unsafe_deserialization()
    try:
        _refuses(path, "Lambda")
    finally:
        state = importlib.import_module("keras.src.backend.common.global_state")
        state.set_global_attribute("safe_mode_saving", None)
    assert not marker.exists()


class _Pickled:
    """What torch.save would write, and torch.load run."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return Path.touch, (self.marker,)


def test_pickled_torch_modules_are_not_opened(keras: Any, tmp_path: Path, marker: Path) -> None:
    if keras.backend.backend() != "torch":
        pytest.skip("only the torch backend wraps torch modules")
    import torch

    module = torch.nn.Identity()
    path = tmp_path / "model.keras"
    wrapper = keras.layers.TorchModuleWrapper(module, output_shape=(None, 4))
    model = keras.Sequential([keras.Input((4,)), wrapper])
    module.payload = _Pickled(marker)  # type: ignore[assignment]
    model.save(str(path))
    _refuses(path, "TorchModuleWrapper .*pickled torch module")
    assert not marker.exists()


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_custom_classes_do_not_run_even_where_they_are_registered(
    keras: Any, tmp_path: Path, marker: Path, ending: str
) -> None:
    class Marking(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            marker.touch()

    registry = keras.saving.get_custom_objects()
    keras.saving.register_keras_serializable(package="elsewhere")(Marking)
    try:
        path = tmp_path / f"model{ending}"
        keras.Sequential([keras.Input((4,)), Marking()]).save(str(path))
        marker.unlink()
        _refuses(path, "Marking.* is not one of the parts of Keras")
        assert not marker.exists()
    finally:
        registry.pop("elsewhere>Marking")


def _entry(name: str, module: str | None = "keras.layers", **config: Any) -> Entry:
    return {"module": module, "class_name": name, "config": config, "registered_name": None}


def _call(function: str, module: str) -> Entry:
    return {"module": module, "class_name": "function", "config": function, "registered_name": function}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (_entry("TFSMLayer", filepath="elsewhere"), "TFSMLayer loads a SavedModel"),
        (_entry("JaxLayer", call_fn=_call("system", "os")), "JaxLayer calls a function|calls the function 'system'"),
        (_entry("FlaxLayer", method="x"), "FlaxLayer calls a module"),
        (_entry("StringLookup", vocabulary="/etc/hostname"), "StringLookup can read other files"),
        (_entry("TextVectorization", vocabulary="/etc/hostname"), "TextVectorization can read other files"),
        (_entry("Popen", "subprocess", args="true"), "Popen of the module 'subprocess' is not one of"),
        (_entry("Layer"), "Layer of the module 'keras.layers' is not one of"),
        (_entry("Dense", None), "Dense is not one of"),
        (_entry("Dense", "keras.src.layers.core.dense"), "keras.src.layers.core.dense"),
        (_entry("get_file", "keras.utils", origin="file:///etc/hostname"), "get_file of the module 'keras.utils'"),
        (_entry("__builtins__", "keras.src.ops.numpy"), "__builtins__"),
        (_entry("__lambda__", None, value="4wEAAAA="), "__lambda__ is compiled Python code"),
        ({"class_name": "__typespec__", "spec_name": "x", "module": "os", "config": []}, "__typespec__ calls a class"),
        ({"class_name": "TypeSpec", "type_spec": "x", "serialized": []}, "TypeSpec calls a class"),
        ({"class_name": ["Dense"], "config": {}}, "which is no name"),
        (_call("system", "os"), "function 'system' of 'os'"),
        (_call("get_file", "keras.utils"), "function 'get_file'"),
        (_call("load_model", "keras.saving"), "function 'load_model'"),
        (_call("map", "keras.ops"), "function 'map'"),
        (_entry("Dense", units=3) | {"registered_name": "elsewhere>Dense"}, "custom object, 'elsewhere>Dense'"),
        (_call("relu", "builtins") | {"registered_name": "elsewhere>relu"}, "custom object, 'elsewhere>relu'"),
    ],
)
@pytest.mark.parametrize("place", ["a layer", "an argument", "a call"])
@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_entries_that_are_not_keras_own_are_refused(
    good: Path, entry: Entry, message: str, place: str, ending: str
) -> None:
    def plant(config: Entry) -> None:
        if place == "a layer":
            config["config"]["layers"].append(entry)
        elif place == "an argument":
            _dense(config)["config"]["kernel_regularizer"] = {"wrapped": [entry]}
        else:
            _dense(config)["inbound_nodes"] = [{"args": [], "kwargs": {"mask": [[entry]]}}]

    path = good.with_suffix(ending)
    _edit(path, plant)
    _refuses(path, message)


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_names_of_custom_activations_are_refused(good: Path, ending: str) -> None:
    path = good.with_suffix(ending)
    _edit(path, lambda config: _dense(config)["config"].update(activation="elsewhere>swish"))
    _refuses(path, "its activation 'elsewhere>swish' is no activation of Keras' own")


def test_training_settings_of_inner_models_are_left_out(
    keras: Any, tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Loss(keras.losses.Loss):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            marker.touch()

        def call(self, truth: Any, given: Any) -> Any:
            return truth - given

    monkeypatch.setitem(keras.saving.get_custom_objects(), "Loss", Loss)
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    inner.compile("adam", Loss())
    model = keras.Sequential([keras.Input((4,)), inner])
    model.compile("adam", Loss())
    model.save(str(tmp_path / "model.keras"))
    marker.unlink()
    assert _load(tmp_path / "model.keras").run(np.ones((2, 4), np.float32))[0].shape == (2, 3)
    assert not marker.exists()
    # It is live: Keras' own compile=False compiles the inner model.
    keras.models.load_model(str(tmp_path / "model.keras"), compile=False)
    assert marker.exists()


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("depth", [300, 100_000])
def test_deep_nesting_is_refused(good: Path, ending: str, depth: int) -> None:
    import h5py

    path = good.with_suffix(ending)
    deep = '{"class_name": "Sequential", "config": ' + "[" * depth + "]" * depth + "}"
    if ending == ".keras":
        _write(path, _members(path) | {"config.json": deep.encode()})
    else:
        with h5py.File(path, "r+") as file:
            file.attrs["model_config"] = deep
    _refuses(path, "nested (more than 200 deep|deeper than any)")


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize(
    "text",
    [
        b'{"class_name": "Sequential", "config": {"a": {"class_name": "TypeSpec"}, "a": 1}}',
        b'{"class_name": "Sequential", "config"',
        '{"class_name": "Sequential", "config": {}}'.encode("utf-16"),
        b"[]",
        b'{"config": {}}',
    ],
)
def test_configurations_that_could_be_read_in_two_ways_are_no_models(good: Path, text: bytes, ending: str) -> None:
    import h5py

    path = good.with_suffix(ending)
    if ending == ".keras":
        _write(path, _members(path) | {"config.json": text})
    else:
        with h5py.File(path, "r+") as file:
            file.attrs["model_config"] = np.void(text) if b"\0" in text else text
    with pytest.raises(ModelError, match=r"no JSON|describes no model|something else"):
        _load(path)


@pytest.mark.parametrize(
    "name",
    [
        "model.weights.npz",
        "extra.py",
        "../outside",
        "/tmp/outside",
        "assets/../../outside",
        "assets\\..\\outside",
        "assets/c:/outside",
        "config.json/../config.json",
        "./config.json",
    ],
)
def test_archives_with_other_members_are_refused(good: Path, name: str) -> None:
    _write(good, _members(good) | {name: b"payload"})
    _refuses(good, "which Keras does not write")
    assert not (good.parent.parent / "outside").exists()


def test_doubled_and_exploding_members_are_refused(good: Path, tmp_path: Path) -> None:
    members = _members(good)
    double = tmp_path / "double.keras"
    _write(double, members)
    with zipfile.ZipFile(double, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("config.json", b"{}")
    _refuses(double, "holds 'config.json' twice")
    packed = tmp_path / "packed.keras"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("config.json", members["config.json"])
    _refuses(packed, "compressed by a method")
    bomb = tmp_path / "bomb.keras"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("config.json", members["config.json"])
        with archive.open("model.weights.h5", "w", force_zip64=True) as file:
            for _ in range(257):
                file.write(bytes(1 << 20))
    _refuses(bomb, "unpacks to 269,484,032 bytes")


def test_assets_are_allowed_and_not_unpacked(good: Path) -> None:
    _write(good, _members(good) | {"assets/": b"", "assets/vocabulary.txt": b"a\n"})
    assert _load(good).run(np.ones((2, 4, 4, 1), np.float32))[0].shape == (2, 3)


def test_archives_without_weights_or_configuration_are_no_models(good: Path) -> None:
    members = _members(good)
    for lost in ("config.json", "model.weights.h5"):
        _write(good, {name: data for name, data in members.items() if name != lost})
        with pytest.raises(ModelError, match=f"has no {lost}"):
            _load(good)


def _external_link(file: Any, elsewhere: Path) -> None:
    import h5py

    file["sly"] = h5py.ExternalLink(str(elsewhere), "/secret")


def _soft_link(file: Any, _: Path) -> None:
    import h5py

    file.create_group("group")["sly"] = h5py.SoftLink("/")


def _external_storage(file: Any, elsewhere: Path) -> None:
    file.create_dataset("sly", (4,), "u1", external=[(str(elsewhere), 0, 4)])


def _virtual(file: Any, elsewhere: Path) -> None:
    import h5py

    layout = h5py.VirtualLayout((4,), "u1")
    layout[:] = h5py.VirtualSource(str(elsewhere), "secret", (4,))
    file.create_virtual_dataset("sly", layout)


def _huge(file: Any, _: Path) -> None:
    file.create_dataset("sly", (1 << 15, 1 << 15), "u1", chunks=(64, 64), compression="gzip")


def _named_type(file: Any, _: Path) -> None:
    file["sly"] = np.dtype("f4")


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (_external_link, r"'sly' is a link \(ExternalLink\)"),
        (_soft_link, r"'sly' is a link \(SoftLink\)"),
        (_external_storage, "'/sly' takes its values from another file"),
        (_virtual, "'/sly' takes its values from another file"),
        (_huge, "'/sly' unpacks to 1,073,741,824 bytes"),
        (_named_type, "'sly' is neither a group nor an array"),
    ],
)
def test_weights_from_elsewhere_are_refused(
    good: Path, tmp_path: Path, ending: str, plant: Callable[[Any, Path], None], message: str
) -> None:
    import h5py

    elsewhere = tmp_path / "elsewhere.h5"
    with h5py.File(elsewhere, "w") as other:
        other["secret"] = np.zeros(4, "u1")
    path = good.with_suffix(ending)
    if ending == ".h5":
        with h5py.File(path, "r+") as file:
            plant(file, elsewhere)
    else:
        weights = tmp_path / "weights.h5"
        members = _members(path)
        weights.write_bytes(members["model.weights.h5"])
        with h5py.File(weights, "r+") as file:
            plant(file, elsewhere)
        _write(path, members | {"model.weights.h5": weights.read_bytes()})
    _refuses(path, message)


def test_groups_that_hold_themselves_end(good: Path) -> None:
    import h5py

    path = good.with_suffix(".h5")
    with h5py.File(path, "r+") as file:
        group = file.create_group("round")
        group["again"] = group
    assert _load(path).run(np.ones((2, 4, 4, 1), np.float32))[0].shape == (2, 3)


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_keras_is_given_what_was_looked_at(
    keras: Any, good: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = good.with_suffix(ending)
    expected = _load(path).run(np.ones((2, 4, 4, 1), np.float32))[0]
    load = keras.models.load_model

    def swap_then_load(copy: str, **settings: Any) -> Any:
        path.write_bytes(b"swapped after the look")
        assert Path(copy) != path
        return load(copy, **settings)

    monkeypatch.setattr(keras.models, "load_model", swap_then_load)
    np.testing.assert_array_equal(_load(path).run(np.ones((2, 4, 4, 1), np.float32))[0], expected)


def test_what_keras_cannot_build_is_one_clear_line(good: Path) -> None:
    _edit(good, lambda config: _dense(config)["config"].update(units="many"))
    with pytest.raises(ModelError, match=r"no model that Keras 3\.\S+ can load \(.+\): save it again") as caught:
        _load(good)
    assert not isinstance(caught.value, UnsafeFileError)
    assert "\n" not in str(caught.value)


def test_the_operation_modules_hold_only_operations_of_their_own(keras: Any) -> None:
    """Any class of these modules passes, so a new Keras must not put something else there."""
    saveable = importlib.import_module("keras.src.saving.keras_saveable").KerasSaveable
    for name in keras_parts.OPERATION_MODULES:
        classes = [
            value
            for value in vars(importlib.import_module(name)).values()
            if isinstance(value, type) and issubclass(value, saveable)
        ]
        assert classes
        assert all(made is keras.Operation or made.__module__ == name for made in classes)
        assert all(issubclass(made, keras.Operation) for made in classes)
        own = [made for made in classes if made is not keras.Operation]
        assert not any({"load_assets", "from_config"} & set(vars(made)) for made in own)


def test_no_listed_layer_reads_assets(keras: Any) -> None:
    """Assets are left out of the copy, so nothing on the list may need them."""
    listed = [getattr(keras.layers, name, None) for name in keras_parts.LAYERS]
    assert not any(hasattr(layer, "load_assets") for layer in listed)
    assert sum(layer is not None for layer in listed) > 100
