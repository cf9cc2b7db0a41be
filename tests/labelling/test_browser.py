"""The page in a browser, worked as a person does: by keys, by clicks, and against all haste."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from diffgan.archive import Archive
from tests.labelling.pages import MakeRun, labels_of, make_batch, page_of
from tests.labelling.person import BACKSPACE, DELETE, ENTER, ESCAPE, LEFT, RIGHT, Person, SitDown, local

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

KINDS = [f"{word} {number}" for number in range(20) for word in ("apple", "bread", "cocoa")]


def test_200_keys_are_200_labels(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(300)
    ann = person(run)
    expected: dict[str, int | None] = {}
    for turn in range(200):
        one = ann.shown
        assert one not in expected
        expected[one] = None if turn % 11 == 10 else turn % 10
        ann.press("x" if turn % 11 == 10 else str(turn % 10))
    ann.settle()
    assert labels_of(run, "ann") == expected
    assert "200 labelled, 100 to go" in ann.text("#progress-text")


def test_keys_faster_than_anybody_lose_nothing_and_label_nothing_twice(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(40)
    ann = person(run)
    with Archive.open(run / "archive.db") as archive:  # a search holds the file meanwhile
        ann.press("123456789012")
        archive.add(make_batch(40, 10))
    ann.settle()
    said = labels_of(run, "ann")
    assert sorted(str(label) for label in said.values()) == sorted("123456789012")


def test_a_run_is_labelled_to_its_end_and_goes_on_with_newcomers(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(6)
    ann = person(run)
    for _ in range(6):
        assert ann.shown
        ann.press("1")
    ann.until("document.getElementById('placeholder').textContent.startsWith('All 6 are labelled')")
    ann.press("1")  # there is nothing to label
    with Archive.open(run / "archive.db") as archive:
        archive.add(make_batch(6, 3))
    assert ann.shown not in labels_of(run, "ann")
    ann.settle()
    assert len(labels_of(run, "ann")) == 6


def test_undo_and_skip_by_keys(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(30)
    ann = person(run)
    first = ann.shown
    ann.press("3")
    second = ann.shown
    ann.press("z")
    ann.until(f"document.getElementById('image').dataset.id === '{first}'")
    assert labels_of(run, "ann") == {}
    ann.press("4", " ")
    third = ann.shown
    assert third not in (first, second)
    ann.press(BACKSPACE)
    ann.until(f"document.getElementById('image').dataset.id === '{second}'")
    ann.settle()
    assert labels_of(run, "ann") == {first: 4}


def test_predictions_are_hidden_until_they_are_wanted(make_run: MakeRun, person: SitDown) -> None:
    ann = person(make_run(100))
    assert ann.is_visible("#predictions")
    assert "60.0 %" in ann.text("#model-a")
    ann.press("p")
    assert not ann.is_visible("#predictions")
    ann.press("1", "g")
    ann.until("!document.getElementById('grid').hidden")
    assert "A says" not in ann.text("#grid-hint")
    ann.browser.refresh()
    assert ann.shown
    assert not ann.is_visible("#predictions")
    ann.press("p", "g")
    ann.until("!document.getElementById('grid').hidden")
    assert "A says" in ann.text("#grid-hint")


def test_a_cluster_is_confirmed_at_once_but_for_those_clicked(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(200)
    ann = person(run)
    ann.press("g")
    ann.until("!document.getElementById('grid').hidden")
    ids = ann.run("return [...document.querySelectorAll('#tiles .tile')].map((tile) => tile.dataset.id)")
    ann.click(f"#tiles [data-id='{ids[1]}']")
    ann.click(f"#tiles [data-id='{ids[3]}']")
    ann.click(f"#tiles [data-id='{ids[3]}']")  # it belongs after all
    assert ann.run("return document.getElementById('confirm').disabled") is True
    ann.press("6", ENTER)
    ann.until("!document.getElementById('single').hidden")
    assert ann.shown == ids[1]
    ann.settle()
    assert labels_of(run, "ann") == {one: 6 for one in ids if one != ids[1]}
    ann.press("z")
    ann.until("document.getElementById('said').textContent.endsWith('labels taken back.')")
    assert labels_of(run, "ann") == {}


def test_a_label_is_changed_from_the_grid(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(100)
    ann = person(run)
    first = ann.shown
    ann.press("2")
    ann.click("#open-overview")
    ann.until("document.querySelector('.cluster-card')")
    ann.click(".cluster-card")
    ann.until("!document.getElementById('grid').hidden")
    ann.click("#done-tiles .tile")
    ann.until(f"document.getElementById('image').dataset.id === '{first}'")
    assert ann.text("#former") == "You have said: 2."
    ann.press("5")
    ann.settle()
    assert labels_of(run, "ann") == {first: 5}


def test_the_grid_goes_by_keys_alone(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(100)
    ann = person(run)
    ann.press("g")
    ann.until("!document.getElementById('grid').hidden")
    ids = ann.run("return [...document.querySelectorAll('#tiles .tile')].map((tile) => tile.dataset.id)")
    ann.run("document.querySelector('#tiles .tile').focus()")
    ann.press(RIGHT, RIGHT, " ", "9")
    assert ann.text("#confirm-text") == f"Label {len(ids) - 1} as 9"
    ann.press(LEFT, ENTER)
    ann.until("!document.getElementById('single').hidden")
    ann.settle()
    assert labels_of(run, "ann") == {one: 9 for one in ids if one != ids[2]}


def test_clusters_one_after_another(make_run: MakeRun, person: SitDown) -> None:
    ann = person(make_run(400))
    assert ann.text("#cluster-name") == "Cluster 1"
    ann.press("]")
    ann.until("document.getElementById('cluster-name').textContent === 'Cluster 2'")
    ann.press("[")
    ann.until("document.getElementById('cluster-name').textContent === 'Cluster 1'")


def test_a_class_of_many_is_found_by_typing(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(40, names=KINDS)
    ann = person(run)
    expected: dict[str, int | None] = {}
    for text, label in (("bread 1", "bread 1"), ("cocoa 17", "cocoa 17"), ("19", "apple 19")):
        one = ann.shown
        ann.press(text, ENTER)
        ann.until(f"document.getElementById('image').dataset.id !== '{one}'")
        expected[one] = KINDS.index(label)
    expected[ann.shown] = KINDS.index("apple 19")
    ann.press(ENTER)  # the same class again
    ann.until(f"!{list(expected)}.includes(document.getElementById('image').dataset.id)")
    expected[ann.shown] = None
    ann.press(DELETE)
    ann.press("nothing like it", ENTER)
    ann.settle()
    assert labels_of(run, "ann") == expected


def test_another_person_takes_over(make_run: MakeRun, person: SitDown) -> None:
    run = make_run(40)
    ann = person(run)
    first = ann.shown
    ann.press("1")
    ann.run(
        "const list = document.getElementById('annotator'); list.value = [...list.options].at(-1).value;"
        "list.dispatchEvent(new Event('change'))"
    )
    ann.press("judge:x", ENTER)
    ann.until("!document.getElementById('new-annotator-fault').hidden")
    assert "as if a model labelled" in ann.text("#new-annotator-fault")
    ann.run("document.getElementById('new-annotator-name').value = ''")
    ann.press("bo", ENTER)
    ann.until(f"document.getElementById('image').dataset.id === '{first}'")
    ann.press("2")
    ann.settle()
    assert (labels_of(run, "ann"), labels_of(run, "bo")) == ({first: 1}, {first: 2})
    assert [entry for entry in ann.faults() if "400" not in entry and "422" not in entry] == []


def test_others_are_asked_for_their_name(make_run: MakeRun, browser: Chrome) -> None:
    run = make_run(40)
    with page_of(run, host="0.0.0.0") as address:
        bo = Person(browser, local(address))
        bo.until("document.getElementById('new-annotator').open")
        assert "token" not in browser.current_url
        bo.press("bo", ENTER)
        bo.until("document.getElementById('annotator').value === 'bo'")
        first = bo.shown
        bo.press("4")
        bo.settle()
        assert labels_of(run, "bo") == {first: 4}
        browser.refresh()
        assert bo.shown != first
        browser.get("about:blank")


def test_what_is_said_while_the_server_is_away_is_kept(make_run: MakeRun, browser: Chrome) -> None:
    run = make_run(40)
    with page_of(run) as address:
        ann = Person(browser, address)
        first = ann.shown
    ann.press("7")
    ann.until("!document.getElementById('fault').hidden")
    assert "Nothing is lost while this page stays open" in ann.text("#fault")
    second = ann.shown
    ann.press("8")
    with page_of(run, port=urlsplit(address).port or 0):
        ann.click("#fault-retry")
        ann.settle()
        ann.until("document.getElementById('fault').hidden")
        browser.get("about:blank")
    assert labels_of(run, "ann") == {first: 7, second: 8}


def test_class_names_are_shown_as_they_are(make_run: MakeRun, person: SitDown) -> None:
    ann = person(make_run(20, names=["<img src=x onerror=alert(1)>", "b & c"]))
    assert "<img src=x onerror=alert(1)>" in ann.text("#single-classes")
    assert "<img src=x onerror=alert(1)>" in ann.text("#predictions")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_at_the_side(make_run: MakeRun, person: SitDown, browser: Chrome, width: int) -> None:
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        ann = person(make_run(60, names=["a very long name of a class that goes on and on", *KINDS[:8]]))
        for key in ("", "g", ESCAPE, "c"):
            ann.press(key)
            assert ann.run("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_everything_to_press_has_a_name(make_run: MakeRun, person: SitDown) -> None:
    ann = person(make_run(60))
    ann.press("g")
    ann.until("!document.getElementById('grid').hidden")
    nameless = ann.run(
        "return [...document.querySelectorAll('button, select, input, img')].filter((one) => !one.ariaLabel"
        " && !one.textContent.trim() && !one.labels?.length && !one.hasAttribute('alt')).map((one) => one.outerHTML)"
    )
    assert nameless == []
