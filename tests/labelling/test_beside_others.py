"""Others write while somebody labels: a search, filters, other people, other commands."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import httpx

from diffgan.archive import Archive
from tests.labelling.pages import MakeRun, Page, labels_of, make_batch, reject

OpenPage = Callable[..., Page]


def tally(page: Page) -> Any:
    return page.get("/api/next", count=0)["tally"]


def test_annotators_do_not_see_each_others_labels(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(40)
    ann = open_page(run)
    bo = Page(ann.client, "bo")
    first = ann.following()[0]
    ann.label([first], 1)
    assert bo.following()[0] == first
    bo.label([first], 2)
    assert (labels_of(run, "ann"), labels_of(run, "bo")) == ({first: 1}, {first: 2})
    assert bo.get("/api/run")["annotators"] == {"ann": 1, "bo": 1}
    assert bo.post("/api/undo").json()["undone"]["ids"] == [first]
    assert labels_of(run, "ann") == {first: 1}


def test_a_search_writes_while_somebody_labels(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(200)
    page = open_page(run)
    known = page.following(count=64)

    def search() -> None:
        with Archive.open(run / "archive.db") as archive:
            for turn in range(40):
                archive.add(make_batch(200 + 50 * turn, 50), {"state": bytes(100_000)})

    writing = Thread(target=search)
    writing.start()
    for place, one in enumerate(known):
        assert page.label([one], place % 10).status_code == 200
    writing.join()
    assert labels_of(run, "ann") == {one: place % 10 for place, one in enumerate(known)}
    while tally(page)["triggers"]["total"] < 2200:
        pass  # the newcomers are looked for with every request
    clusters: Any = page.get("/api/clusters", count=200)
    assert sum(one["total"] for one in clusters["clusters"]) == 2200
    assert tally(page)["triggers"]["labelled"] == 64


def test_labels_that_come_in_otherwise_are_noticed(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(50)
    page = open_page(run)
    first, second, *_ = page.following()
    page.label([first], 1)
    with Archive.open(run / "archive.db") as archive:
        archive.labels.write("ann", archive.lookup(second).ids, [3])
        archive.labels.write("judge:m", archive.column("ids"), [1] * 50)
    while tally(page)["triggers"]["labelled"] < 2:
        pass
    assert page.get("/api/run")["annotators"] == {"ann": 2}
    assert second not in page.following()


def test_a_label_that_changes_otherwise_is_noticed(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(50)
    page = open_page(run)
    first = page.following()[0]
    page.label([first], 1)
    with Archive.open(run / "archive.db") as archive:
        archive.labels.write("ann", archive.lookup(first).ids, [3])
    while page.get(f"/api/triggers/{first}")["said"] != 3:
        pass  # as many labels as before


def test_what_came_in_otherwise_is_not_taken_back(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(50)
    page = open_page(run)
    first, second, third, *_ = page.following()
    page.label([first, second], 2)
    page.label([third], 1)
    with Archive.open(run / "archive.db") as archive:
        archive.labels.write("ann", archive.lookup(first).ids, [5])
    while page.get(f"/api/triggers/{first}")["said"] != 5:
        pass
    assert page.post("/api/undo").json()["undone"]["ids"] == [third]
    assert page.post("/api/undo").json()["undone"] is None
    assert labels_of(run, "ann") == {first: 5, second: 2}


def test_labels_of_an_earlier_sitting_are_there(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(50)
    page = open_page(run)
    done = page.following(count=20)
    page.label(done, 5)
    again = open_page(run)
    assert tally(again)["triggers"]["labelled"] == 20
    assert not set(done) & set(again.following(count=64))


def test_a_verdict_that_comes_later_takes_triggers_out(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(50)
    page = open_page(run)
    page.following()
    reject(run, range(25))
    while tally(page)["triggers"]["total"] > 25:
        pass
    assert len(page.following(count=64)) == 25


def test_two_people_label_at_the_same_time(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(120)
    page = open_page(run)
    address = page.client.base_url

    def work(name: str, label: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            own = Page(client, name)
            for _ in range(30):
                own.label(own.following(count=1), label)

    people = [Thread(target=work, args=(f"person {number}", number)) for number in range(3)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    for number in range(3):
        said = labels_of(run, f"person {number}")
        assert list(said.values()) == [number] * 30
