"""What the page refuses: questions and labels that do not fit, runs with nothing to label, a disk at fault."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from diffgan.archive import Archive
from diffgan.errors import UsageError
from diffgan.labelling.office import Office
from tests.labelling.pages import MakeRun, Page, labels_of, page_of, reject, write_run

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def refusing_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing is said of."""
    folder = tmp_path_factory.mktemp("refusing") / "run"
    write_run(folder, 10)
    return folder


@pytest.fixture(scope="module")
def refusing(refusing_run: Path) -> Iterator[Page]:
    """Its page."""
    with page_of(refusing_run) as address, httpx.Client(base_url=address) as client:
        yield Page(client)


def tally(page: Page) -> Any:
    return page.get("/api/next", count=0)["tally"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"ids": ["0" * 16], "label": 1}, 400, "There is no trigger"),
        ({"ids": ["zz"], "label": 1}, 422, "ids"),
        ({"ids": [], "label": 1}, 422, "ids"),
        ({"label": 10}, 400, "expected 0 to 9, or invalid"),
        ({"label": -1}, 400, "expected 0 to 9, or invalid"),
        ({"label": "cat"}, 422, "label"),
        ({"label": "1"}, 422, "label"),
        ({"label": None}, 422, "label"),
        ({"label": 1.5}, 422, "label"),
        ({"label": 1, "annotator": ""}, 422, "annotator"),
        ({"label": 1, "annotator": "judge:m1"}, 422, "as if a model labelled"),
        ({"label": 1, "annotator": "a\x1b[31m"}, 422, "printable"),
        ({"label": 1, "annotator": "x" * 61}, 422, "annotator"),
        ({"label": 1, "more": 1}, 422, "more"),
    ],
)
def test_what_does_not_fit_is_said_and_changes_nothing(
    refusing_run: Path, refusing: Page, body: dict[str, Any], status: int, said: str
) -> None:
    run, page = refusing_run, refusing
    ids = page.following()
    good = {"annotator": "ann", "ids": ids[:1]}
    answer = page.client.post("/api/labels", json={**good, **body})
    assert answer.status_code == status, answer.text
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    with Archive.open(run / "archive.db", read_only=True) as archive:
        assert archive.labels.counts() == {}
    mixed = page.label([ids[0], "0" * 16], 1)
    assert mixed.status_code == 400
    assert labels_of(run, "ann") == {}


@pytest.mark.parametrize(
    "path",
    [
        "/api/next?annotator=ann&order=best",
        "/api/next?annotator=ann&count=65",
        "/api/next?annotator=ann&cluster=x",
        "/api/next",
        "/api/next?annotator=%20",
        "/api/clusters?annotator=ann&start=-1",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(refusing: Page, path: str) -> None:
    answer = refusing.client.get(path)
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    ["/api/clusters/99?annotator=a", "/api/clusters/-1?annotator=a", "/images/0000000000000000.png", "/images/x.png"],
)
def test_what_is_not_there_is_said(refusing: Page, path: str) -> None:
    answer = refusing.client.get(path)
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2fapp.py", "/page/nothing.js"])
def test_only_the_pages_own_files_are_given_out(refusing: Page, path: str) -> None:
    assert refusing.client.get(path).status_code == 404


def test_a_fault_of_the_disk_is_said_and_nothing_is_taken_for_labelled(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(10)
    page = open_page(run)
    first = page.following()[0]
    with sqlite3.connect(run / "archive.db") as connection:
        connection.execute("ALTER TABLE labels RENAME TO hidden")
    answer = page.label([first], 1)
    assert answer.status_code == 503
    assert "Cannot write to the archive" in answer.json()["error"]
    with sqlite3.connect(run / "archive.db") as connection:
        connection.execute("ALTER TABLE hidden RENAME TO labels")
    assert tally(page)["triggers"]["labelled"] == 0
    assert page.label([first], 1).status_code == 200
    assert labels_of(run, "ann") == {first: 1}


def test_what_cannot_be_labelled_is_said(make_run: MakeRun) -> None:
    empty, regression, rejected = make_run(0), make_run(9, name="regression", labelled=False), make_run(9, name="none")
    reject(rejected, range(9))
    for run, said in (
        (empty, "no triggers yet"),
        (regression, "give no classes"),
        (rejected, "rejected all 9 triggers"),
    ):
        with pytest.raises(UsageError, match=said):
            Office(run / "archive.db")
