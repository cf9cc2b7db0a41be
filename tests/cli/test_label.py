"""`diffgan label` as a user runs it: from the command to the page and back, one line for every mistake."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import diffgan.labelling.app  # noqa: F401 - before a test gives up the right to read it
from diffgan.archive import Archive
from diffgan.cli.main import main
from tests.labelling.pages import labels_of, reject, write_run


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    err: str


class Shell:
    """Runs the command in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def __call__(self, *arguments: object) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["diffgan", "label", *map(str, arguments), "--no-browser"])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), self._capfd.readouterr().err)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capfd)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_run(tmp_path / "run", 40)
    return tmp_path / "run"


def assert_one_line(done: Done, said: str) -> None:
    assert done.code == 2, done.err
    assert done.err.count("\n") == 1, done.err
    assert said in done.err


def started(run: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """The command in a process of its own, and the address that it prints."""
    command = [sys.executable, "-m", "diffgan", "label", str(run), "--no-browser", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line + process.stderr.read()
    return process, found[0]


def test_label_and_end_it_with_ctrl_c(run: Path) -> None:
    process, address = started(run, "--annotator", "Ann Lee")
    with httpx.Client(base_url=address) as client:
        assert "What does the image show?" in client.get("/").text
        assert client.get("/api/run").json()["annotator"] == "Ann Lee"
        items = client.get("/api/next", params={"annotator": "Ann Lee"}).json()["items"]
        ids: list[str] = [item["id"] for item in items[:2]]
        body = {"annotator": "Ann Lee", "ids": ids, "label": 3}
        assert client.post("/api/labels", json=body).status_code == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == f"2 labels more by Ann Lee: 2 in {run / 'archive.db'}\n"
    assert labels_of(run, "Ann Lee") == dict.fromkeys(ids, 3)


def test_killed_it_keeps_every_label(run: Path) -> None:
    process, address = started(run)
    with httpx.Client(base_url=address) as client:
        me = client.get("/api/run").json()["annotator"]
        items = client.get("/api/next", params={"annotator": me}).json()["items"]
        for item in items:
            assert client.post("/api/labels", json={"annotator": me, "ids": [item["id"]], "label": 1}).is_success
        process.kill()
        process.communicate()
    assert len(labels_of(run, me)) == len(items)


def test_rejected_ones_come_with_all_and_an_archive_may_be_named(run: Path) -> None:
    reject(run, range(30))
    process, _ = started(run / "archive.db", "--all")
    process.terminate()
    process.communicate()
    process, address = started(run)
    with httpx.Client(base_url=address) as client:
        tally = client.get("/api/next", params={"annotator": "a"}).json()["tally"]
    process.terminate()
    process.communicate()
    assert tally["triggers"]["total"] == 10


def test_elsewhere_the_address_brings_a_token(run: Path) -> None:
    process, address = started(run, "--host", "0.0.0.0")
    try:
        assert re.search(r":\d+/\?token=[\w-]{32}$", address)
        port = httpx.URL(address).port
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 401
    finally:
        process.terminate()
        process.communicate()


def test_no_such_run(shell: Shell, tmp_path: Path) -> None:
    assert_one_line(shell(tmp_path / "none"), "where a run's folder is expected")
    assert_one_line(shell(tmp_path), "has no archive.db in it")


def test_no_triggers(shell: Shell, tmp_path: Path) -> None:
    write_run(tmp_path / "empty", 0)
    assert_one_line(shell(tmp_path / "empty"), "has no triggers yet")


def test_a_task_without_classes(shell: Shell, tmp_path: Path) -> None:
    write_run(tmp_path / "regression", 5, labelled=False)
    assert_one_line(shell(tmp_path / "regression"), "give no classes")


def test_all_rejected(shell: Shell, run: Path) -> None:
    reject(run, range(40))
    assert_one_line(shell(run), "label those with --all")


def test_a_port_in_use(shell: Shell, run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_one_line(shell(run, "--port", port), f"Port {port} is in use: give another --port")


@pytest.mark.parametrize("port", ["-1", "65536", "web"])
def test_a_port_that_is_none(shell: Shell, run: Path, port: str) -> None:
    assert_one_line(shell(run, f"--port={port}"), "--port")


def test_a_host_that_is_not_here(shell: Shell, run: Path) -> None:
    assert_one_line(shell(run, "--host", "192.0.2.1"), "is no address of this machine")


@pytest.mark.parametrize("name", ["", "  ", "judge:m1", "x" * 61])
def test_a_name_that_is_none(shell: Shell, run: Path, name: str) -> None:
    assert_one_line(shell(run, "--annotator", name), "annotator's name")


def test_a_damaged_archive(shell: Shell, run: Path) -> None:
    (run / "archive.db").write_bytes(b"nothing" * 1000)
    assert_one_line(shell(run), "archive")


@pytest.fixture
def read_only_run() -> Iterator[Path]:
    """A run in a folder where nobody may write; chmod does not bind root, who steps down."""
    user, folder = os.geteuid(), Path(tempfile.mkdtemp())
    try:
        write_run(folder / "run", 10)
        folder.chmod(0o755)
        for path in (*(folder / "run").iterdir(), folder / "run"):
            path.chmod(0o555)
        if user == 0:
            os.seteuid(65534)
        yield folder / "run"
    finally:
        os.seteuid(user)
        (folder / "run").chmod(0o700)
        shutil.rmtree(folder)


def test_an_archive_that_cannot_be_written(shell: Shell, read_only_run: Path) -> None:
    assert_one_line(shell(read_only_run), "Copy it to a folder that you may write to")
    with Archive.open(read_only_run / "archive.db", read_only=True) as archive:
        assert archive.count() == 10


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(run: Path, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; sys.argv = ['diffgan', 'label', {str(run)!r}]; "
    code += "from diffgan.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert_one_line(Done(done.returncode, done.stderr), "pip install 'diffgan[ui]'")
