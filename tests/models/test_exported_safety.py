"""A .pt2 file that would run code is refused, and does not run: each test carries a payload that would be seen."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models import load_classifier, zips
from diffgan.models.exported import open_program


class Payload:
    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.marker,)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(16, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.dense(images.reshape(images.shape[0], -1) + 0), dim=1)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.pt2"
    shapes = ({0: torch.export.Dim("n")},)
    torch.export.save(torch.export.export(Net(), (torch.rand(2, 1, 4, 4),), dynamic_shapes=shapes), path)
    return path


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "ran"


Members = dict[str, bytes]


def rewritten(good: Path, change: Callable[[Members], None]) -> Path:
    """The good file with some members changed."""
    with zipfile.ZipFile(good) as archive:
        members = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    change(members)
    path = good.with_name("bad.pt2")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"bad/{name}", data)
    return path


def in_program(change: Callable[[dict[str, Any]], None]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        program = json.loads(members["models/model.json"])
        change(program)
        members["models/model.json"] = json.dumps(program).encode()

    return apply


def pickled(payload: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(payload, buffer)
    return buffer.getvalue()


def refused(path: Path, marker: Path, message: str = "") -> None:
    with pytest.raises(UnsafeFileError, match=message) as caught:
        load_classifier(path)
    assert not marker.exists()
    assert "export" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_good_file_opens(good: Path) -> None:
    assert load_classifier(rewritten(good, lambda members: None)).class_count == 3


def test_sample_inputs_with_a_payload(good: Path, marker: Path) -> None:
    def change(members: Members) -> None:
        members["data/sample_inputs/model.pt"] = pickled(Payload(marker))

    refused(rewritten(good, change), marker, "pickled objects in data/sample_inputs")


def test_the_payload_of_these_tests_would_be_seen(good: Path, marker: Path) -> None:
    """Torch's own reader runs it: without this, the tests above and below would prove nothing."""

    def change(members: Members) -> None:
        members["data/sample_inputs/model.pt"] = pickled(Payload(marker))

    path = rewritten(good, change)
    with contextlib.suppress(Exception):  # what it makes of the payload afterwards does not matter
        torch.export.load(path)
    assert marker.exists()


def test_a_weight_that_is_a_pickle(good: Path, marker: Path) -> None:
    def change(members: Members) -> None:
        config = json.loads(members["data/weights/model_weights_config.json"])
        config["config"]["dense.weight"]["use_pickle"] = True
        members["data/weights/model_weights_config.json"] = json.dumps(config).encode()
        members["data/weights/" + config["config"]["dense.weight"]["path_name"]] = pickled(Payload(marker))

    refused(rewritten(good, change), marker, "pickled objects in data/weights")


@pytest.mark.parametrize("name", ["custom_obj_0", "opaque_obj_0", "../weight_0"])
def test_a_constant_that_is_an_object(good: Path, marker: Path, name: str) -> None:
    def change(members: Members) -> None:
        entry = {"path_name": name, "is_param": False, "use_pickle": True, "tensor_meta": None}
        members["data/constants/model_constants_config.json"] = json.dumps({"config": {"c": entry}}).encode()
        members[f"data/constants/{name}"] = pickled(Payload(marker))

    refused(rewritten(good, change), marker, "holds the object")


def test_weights_in_the_old_form(good: Path, marker: Path) -> None:
    def change(members: Members) -> None:
        members["data/weights/model.pt"] = pickled(Payload(marker))

    refused(rewritten(good, change), marker, "pickled objects")


def test_compiled_code(good: Path, marker: Path) -> None:
    def change(members: Members) -> None:
        members["data/aotinductor/model/model.so"] = b"\x7fELF"

    refused(rewritten(good, change), marker, "native code")


@pytest.mark.parametrize(
    "target",
    [
        "torch.os.mkdir",
        "torch.ops.load_library",
        "torch.hub.load",
        "torch.serialization.load",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.save.default",
        "torch.ops.aten.manual_seed.default",
        "torch.ops.higher_order.call_torchbind",
        "_operator.methodcaller",
        "_operator.call",
        "math.__loader__.load_module",
        "#anything",
        "os.mkdir",
    ],
)
def test_an_operator_that_is_none(good: Path, marker: Path, target: str) -> None:
    def change(program: dict[str, Any]) -> None:
        node = program["graph_module"]["graph"]["nodes"][0]
        node["target"] = target
        node["inputs"] = [{"name": "path", "arg": {"as_string": str(marker)}, "kind": 1}]

    refused(rewritten(good, in_program(change)), marker, "it calls")


def test_an_operator_given_as_an_argument(good: Path, marker: Path) -> None:
    def change(program: dict[str, Any]) -> None:
        node = program["graph_module"]["graph"]["nodes"][0]
        node["inputs"].append({"name": "f", "arg": {"as_operator": "torch.os.mkdir"}, "kind": 1})

    refused(rewritten(good, in_program(change)), marker, "it calls")


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').mkdir('MARKER')",
        "exec(\"import os; os.mkdir('MARKER')\")",
        "().__class__.__base__",
        "s0.func",
        "(s0) . func",
        "open",
        "[s0]",
        "lambda: s0",
        "Symbol('s0', positive=exec('1'))",
    ],
)
def test_a_size_that_is_code(good: Path, marker: Path, expression: str) -> None:
    def change(program: dict[str, Any]) -> None:
        values = program["graph_module"]["graph"]["tensor_values"]
        values["images"]["sizes"][0] = {
            "as_expr": {"expr_str": expression.replace("MARKER", str(marker)), "hint": {"as_int": 2}}
        }

    refused(rewritten(good, in_program(change)), marker, "size is computed by")


def test_a_name_that_is_code(good: Path, marker: Path) -> None:
    def change(program: dict[str, Any]) -> None:
        code = f"x=__import__('os').mkdir('{marker}')"
        program["graph_module"]["graph"]["nodes"][-1]["outputs"][0]["as_tensor"]["name"] = code

    refused(rewritten(good, in_program(change)), marker, "is no name")


def test_guards_are_never_run(good: Path, marker: Path) -> None:
    def change(program: dict[str, Any]) -> None:
        program["guards_code"] = [f"__import__('os').mkdir('{marker}') or True"]

    assert load_classifier(rewritten(good, in_program(change))).class_count == 3
    assert not marker.exists()


def test_an_input_of_a_foreign_type(good: Path, marker: Path) -> None:
    def change(program: dict[str, Any]) -> None:
        signature = program["graph_module"]["module_call_graph"][0]["signature"]
        signature["in_spec"] = signature["in_spec"].replace("builtins.tuple", "collections.namedtuple")

    refused(rewritten(good, in_program(change)), marker, "takes or gives")


def test_two_members_of_one_name(good: Path, marker: Path) -> None:
    path = rewritten(good, lambda members: None)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("bad/data/sample_inputs/model.pt", pickled(Payload(marker)))
    refused(path, marker, "two members of one name")


def test_the_file_of_an_older_torch_says_to_export_again(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("version", "8.5")
        archive.writestr("serialized_exported_program.json", "{}")
    with pytest.raises(ModelError, match="export it again"):
        load_classifier(path)


def test_a_description_nested_without_end_is_one_clear_line(good: Path) -> None:
    def change(members: Members) -> None:
        members["models/model.json"] = b'{"a":' * 100_000 + b"1" + b"}" * 100_000

    with pytest.raises(ModelError, match=r"nested too deeply|no JSON"):
        load_classifier(rewritten(good, change))


def exported(path: Path, network: torch.nn.Module, images: torch.Tensor) -> Path:
    program = torch.export.export(network.eval(), (images,), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.export.save(program, path)
    return path


def answers_alike(path: Path, images: torch.Tensor) -> bool:
    with torch.inference_mode():
        return torch.equal(open_program(path)[0](images), torch.export.load(path).module()(images))


class WithoutGradients(Net):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = self.dense(images.flatten(1))
        with torch.no_grad():
            shift = hidden.sum(1, keepdim=True)
        return torch.softmax(hidden + shift, 1)


def test_weights_that_are_numbered_and_gradients_switched_off_are_fine(tmp_path: Path) -> None:
    images = torch.rand(3, 1, 4, 4)
    bare = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.BatchNorm1d(8), torch.nn.Softmax(1))
    assert answers_alike(exported(tmp_path / "bare.pt2", bare, images), images)
    assert load_classifier(tmp_path / "bare.pt2").class_count == 8
    assert answers_alike(exported(tmp_path / "without.pt2", WithoutGradients(), images), images)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
def test_networks_of_torchvision_are_fine(tmp_path: Path, name: str) -> None:
    models = pytest.importorskip("torchvision.models")
    images = torch.rand(2, 3, 64, 64)
    assert answers_alike(exported(tmp_path / "m.pt2", getattr(models, name)(weights=None), images), images)


@pytest.mark.parametrize("name", ['1.weight"]', "a..b", ".a", "1.weight()", "a b", "\u00e9.weight"])
def test_a_name_of_a_weight_that_is_code(good: Path, marker: Path, name: str) -> None:
    def change(program: dict[str, Any]) -> None:
        specs = program["graph_module"]["graph"].get("signature") or program["graph_module"]["signature"]
        specs["input_specs"][0]["parameter"]["parameter_name"] = name

    refused(rewritten(good, in_program(change)), marker, "is no name of a weight")


def test_a_node_may_not_be_numbered(good: Path, marker: Path) -> None:
    def change(program: dict[str, Any]) -> None:
        program["graph_module"]["graph"]["nodes"][-1]["outputs"][0]["as_tensor"]["name"] = "1.weight"

    refused(rewritten(good, in_program(change)), marker, "is no name")


def test_a_file_that_unpacks_to_too_much_is_one_clear_line(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(good, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad/data/weights/weight_9", bytes(2**20))
    assert load_classifier(good).class_count == 3
    monkeypatch.setattr(zips, "_ALWAYS_FINE", 2**16)
    with pytest.raises(ModelError, match=r"would unpack to 1,0\d\d,\d{3} bytes, more than the [\d,]+") as caught:
        load_classifier(good)
    assert "\n" not in str(caught.value)


def test_a_quarter_of_a_gigabyte_of_zeros_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("m/models/model.json", "w") as member,
    ):
        for _ in range(257):
            member.write(bytes(2**20))
    with pytest.raises(ModelError, match="would unpack to"):
        load_classifier(path)


def test_a_damaged_member_is_one_clear_line(good: Path) -> None:
    content = bytearray(good.read_bytes())
    position = content.index(b"graph_module")
    content[position : position + 5] = b"xxxxx"
    good.write_bytes(content)
    with pytest.raises(ModelError, match="no complete") as caught:
        load_classifier(good)
    assert "\n" not in str(caught.value)
