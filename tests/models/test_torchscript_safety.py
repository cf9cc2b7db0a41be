"""A TorchScript file that reaches beyond its tensors is refused, and does nothing: the payload would be seen."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models import load_classifier, zips
from diffgan.models.torchscript import open_module


class Net(torch.nn.Module):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.softmax(images.flatten(1), 1)


class Loops(torch.nn.Module):
    """Control flow, lists, dictionaries, texts, slices and an assertion."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])
        self.recurrent = torch.nn.LSTM(4, 3, batch_first=True, bidirectional=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = images.squeeze(1)
        for layer in self.layers:
            hidden = torch.relu(layer(hidden))
        found: dict[str, list[torch.Tensor]] = {"states": []}
        step = 0
        while step < 3 and bool(hidden.sum() > -1e9):
            found["states"].append(hidden * float(step))
            step += 1
        assert len(found["states"]) == 3, f"only {step} 'steps'"
        if hidden.shape[0] < 1:
            raise ValueError(f"an empty batch of {step}")
        hidden = self.recurrent(torch.stack(found["states"]).mean(0))[0]
        hidden[..., 0] += 1.0
        with torch.no_grad():
            first, second = hidden[:, -1].chunk(2, -1)
        return torch.cat([first, second], -1).softmax(-1)


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.encoder(images.flatten(1).unsqueeze(1))
        return hidden.squeeze(1)


def scripted(path: Path, module: torch.nn.Module) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(module.eval()).save(str(path))  # type: ignore[no-untyped-call]
    return path


def traced(path: Path, module: torch.nn.Module, example: torch.Tensor) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(module.eval(), example, check_trace=False).save(str(path))  # type: ignore[no-untyped-call]
    return path


def frozen(path: Path, module: torch.nn.Module) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.freeze(torch.jit.script(module.eval())).save(str(path))
    return path


def torchs_own(path: Path) -> Callable[..., torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: Callable[..., torch.Tensor] = torch.jit.load(str(path)).eval()  # type: ignore[no-untyped-call]
    return module


def answers_alike(path: Path, images: torch.Tensor) -> bool:
    with torch.inference_mode(), torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
        return torch.equal(open_module(path)(images), torchs_own(path)(images))


Members = dict[str, bytes]
CODE = "code/__torch__/tests/models/test_torchscript_safety.py"


def rewritten(tmp_path: Path, change: Callable[[Members], None]) -> Path:
    """A good file with some members changed."""
    with zipfile.ZipFile(scripted(tmp_path / "good.pt", Net())) as archive:
        members = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    members = {name: data for name, data in members.items() if not name.endswith(".debug_pkl")}
    change(members)
    path = tmp_path / "bad.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"bad/{name}", data)
    return path


def with_lines(tmp_path: Path, *lines: str) -> Path:
    """The good file, with these lines at the start of its forward."""

    def change(members: Members) -> None:
        head, colon, body = members[CODE].decode().partition(") -> Tensor:\n")
        assert colon
        members[CODE] = (head + colon + "".join(f"    {line}\n" for line in lines) + body).encode()

    return rewritten(tmp_path, change)


def with_setstate(tmp_path: Path, line: str) -> Path:
    def change(members: Members) -> None:
        members[CODE] += (
            b"  def __getstate__(self: __torch__.tests.models.test_torchscript_safety.Net) -> int:\n    return 1\n"
            b"  def __setstate__(self: __torch__.tests.models.test_torchscript_safety.Net, state: int) -> NoneType:\n"
        ) + f"    {line}\n    self.training = False\n    return None\n".encode()
        members["data.pkl"] = b"\x80\x02c__torch__.tests.models.test_torchscript_safety\nNet\n)\x81K\x01b."

    return rewritten(tmp_path, change)


def refused(path: Path, message: str = "reaches beyond its tensors") -> None:
    with pytest.raises(UnsafeFileError, match=message) as caught:
        load_classifier(path)
    assert "export it again" in str(caught.value)
    assert "\n" not in str(caught.value)


WRITERS = [
    ['torch.save(images, "MARKER")'],
    ['ops.aten.save(images, "MARKER")'],
    ['torch.autograd.save(images, "MARKER")'],
    ["other = torch", 'other.save(images, "MARKER")'],
    ['getattr(torch, "save")(images, "MARKER")'],
    ['getattr(torch, "\\163ave")(images, "MARKER")'],
    ["other = getattr", 'other(torch, "save")(images, "MARKER")'],
    ["other = torch.save", 'other(images, "MARKER")'],
    ["other = ops", 'other.aten.save(images, "MARKER")'],
    ['done = fork(torch.save, images, "MARKER")', "waited = torch.wait(done)"],
]


@pytest.mark.parametrize("lines", WRITERS)
def test_what_writes_a_file_is_refused_and_would_have(tmp_path: Path, lines: list[str]) -> None:
    marker = tmp_path / "ran"
    path = with_lines(tmp_path, *(line.replace("MARKER", str(marker)) for line in lines))
    refused(path)
    assert not marker.exists()
    torchs_own(path)(torch.rand(1, 1, 4, 4))
    assert marker.exists(), "torch's own reader runs it: without this, the test would prove nothing"


@pytest.mark.parametrize("call", ["torch.from_file", "ops.aten.from_file"])
def test_what_overwrites_a_file_is_refused_and_would_have(tmp_path: Path, call: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"\x01" * 64)
    path = with_lines(
        tmp_path,
        f'mapped = {call}("{victim}", True, 16, dtype=6, layout=0, device=torch.device("cpu"), pin_memory=False)',
        "images = torch.add(images, torch.sum(torch.copy_(mapped, torch.zeros_like(mapped))))",
    )
    refused(path, "from_file")
    assert victim.read_bytes() == b"\x01" * 64
    torchs_own(path)(torch.rand(1, 1, 4, 4))
    assert victim.read_bytes() == bytes(64)


def test_what_runs_while_the_file_is_loaded_is_refused_and_would_have(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    path = with_setstate(tmp_path, f'torch.save(state, "{marker}")')
    refused(path, r"calls 'torch\.save'")
    assert not marker.exists()
    torchs_own(path)
    assert marker.exists()


@pytest.mark.parametrize(
    "line",
    [
        'images.save("MARKER")',
        '"MARKER".from_file(True, 16)',
        'getattr("MARKER", "from_file")(True, 16)',
        'getattr(images, "sa" "ve")("MARKER")',
        "getattr(images, name)",
        "torch.manual_seed(1)",
        "torch.os.mkdir(images)",
        "torch.no_such_operator(images)",
        "torch.to_here(images)",
        'ops.prim.rpc_sync("worker", images)',
        "ops.prim.PythonOp(images)",
        "ops.image.read_file(images)",
        "ops.image.write_file(images, images)",
        "ops.inductor.resize_storage_bytes_(images, 1)",
        "ops.mine.anything(images)",
        'store = __torch__.torch.classes.dist_c10d.FileStore("MARKER", 1)',
        "store = __torch__.torch.classes.dist_c10d",
        "store = __torch__.torch.classes.quantized",
        "store = __torch__.torch",
        "store = __torch__",
        'store = getattr(__torch__, "torch")',
        'text = r"\\"',
        'text = """a"""',
        "count = 1  # a comment",
        "count = 1 + \\",
        "count\t= 1",
        "count\u00aa = 1",
        "count\r= 1",
        "import os",
        "from torch import save",
        "nothing that is code",
    ],
)
def test_other_ways_out_are_refused(tmp_path: Path, line: str) -> None:
    refused(with_lines(tmp_path, line.replace("MARKER", str(tmp_path / "ran"))))


@pytest.mark.parametrize("native", ["dist_c10d.FileStore", "quantized.Other", "cuda.Stream"])
def test_a_pickled_native_object_is_refused(tmp_path: Path, native: str) -> None:
    def change(members: Members) -> None:
        module, _, name = native.rpartition(".")
        members["data.pkl"] = f"\x80\x02c__torch__.torch.classes.{module}\n{name}\n)\x81.".encode("latin-1")

    refused(rewritten(tmp_path, change), "native class")


@pytest.mark.parametrize("content", [b"\x80\x02cos\nmkdir\n.", b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93.", b"\xff."])
@pytest.mark.parametrize("member", ["data.pkl", "constants.pkl"])
def test_a_pickle_of_anything_else_is_refused(tmp_path: Path, content: bytes, member: str) -> None:
    refused(rewritten(tmp_path, lambda members: members.update({member: content})), rf"in {member}")


def test_only_what_was_checked_is_kept(tmp_path: Path) -> None:
    def change(members: Members) -> None:
        members["model.json"] = b"{}"  # the oldest form: torch would prefer it
        members["code/other.py.debug_pkl"] = b"cos\nmkdir\n."
        members["extra/note"] = b"anything"

    with pytest.raises(RuntimeError):
        torchs_own(rewritten(tmp_path, change))
    assert open_module(tmp_path / "bad.pt")(torch.rand(2, 1, 4, 4)).shape == (2, 16)


@pytest.mark.parametrize("second", [CODE, CODE.upper()])
def test_two_members_of_one_name(tmp_path: Path, second: str) -> None:
    path = rewritten(tmp_path, lambda members: None)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(f"other/{second}", b"")
    refused(path, "two members of one name")


def test_a_file_that_unpacks_to_too_much_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rewritten(tmp_path, lambda members: None)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad/data/9", bytes(2**20))
    open_module(path)
    monkeypatch.setattr(zips, "_ALWAYS_FINE", 2**16)
    with pytest.raises(ModelError, match=r"would unpack to 1,0\d\d,\d{3} bytes"):
        open_module(path)


def test_too_much_code_is_one_clear_line(tmp_path: Path) -> None:
    def change(members: Members) -> None:
        members["code/more.py"] = b"\n" * (32 * 2**20)

    with pytest.raises(ModelError, match="bytes of code"):
        open_module(rewritten(tmp_path, change))


@pytest.mark.parametrize("make", [Loops, Attention])
def test_ordinary_networks_answer_as_they_do_without_the_look(
    tmp_path: Path, make: Callable[[], torch.nn.Module]
) -> None:
    images = torch.rand(3, 1, 4, 4)
    torch.manual_seed(0)
    assert answers_alike(scripted(tmp_path / "scripted.pt", make()), images)
    assert answers_alike(traced(tmp_path / "traced.pt", make(), images), images)
    assert answers_alike(frozen(tmp_path / "frozen.pt", make()), images)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
def test_networks_of_torchvision_answer_as_they_do_without_the_look(tmp_path: Path, name: str) -> None:
    models = pytest.importorskip("torchvision.models")
    images = torch.rand(1, 3, 64, 64)
    network = getattr(models, name)(weights=None)
    assert answers_alike(scripted(tmp_path / "scripted.pt", network), images)
    assert answers_alike(traced(tmp_path / "traced.pt", network, images), images)
    assert answers_alike(frozen(tmp_path / "frozen.pt", network), images)


def test_a_quantised_network_answers_as_it_does_without_the_look(tmp_path: Path) -> None:
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = torch.ao.quantization.quantize_dynamic(network, {torch.nn.Linear}, dtype=torch.qint8)  # type: ignore[no-untyped-call]
    assert answers_alike(scripted(tmp_path / "m.pt", small), torch.rand(3, 1, 4, 4))


def test_all_files_of_the_test_bed_open(testbed: Path) -> None:
    paths = [*testbed.glob("models/*.pt"), *testbed.glob("generators/*.pt")]
    assert paths
    for path in paths:
        assert callable(open_module(path))


def test_a_list_of_texts_in_the_code_is_fine(tmp_path: Path) -> None:
    path = with_lines(tmp_path, """text = "it's \\"torch.save\\" # no comment\"""", "other = 'a'", "pair = [1, -2]")
    assert np.isfinite(open_module(path)(torch.rand(1, 1, 4, 4)).numpy()).all()


def test_the_file_is_read_once(tmp_path: Path) -> None:
    """Torch gets the vetted bytes, not the path again: a file swapped in between changes nothing."""
    from diffgan.models.torchscript_safety import vetted_copy

    path = rewritten(tmp_path, lambda members: None)
    copy = vetted_copy(path)
    path.write_bytes(b"swapped")
    assert isinstance(copy, io.BytesIO)
    assert torch.jit.load(copy)(torch.rand(1, 1, 4, 4)).shape == (1, 16)  # type: ignore[no-untyped-call]
