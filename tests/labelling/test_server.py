"""The page over HTTP: what comes next, what is said, and that it lands in the archive."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from diffgan.archive import Archive
from tests.labelling.pages import MakeRun, Page, labels_of, reject

OpenPage = Callable[..., Page]


def tally(page: Page) -> Any:
    return page.get("/api/next", count=0)["tally"]


def test_a_label_is_in_the_archive_at_once(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(100)
    page = open_page(run)
    first, second, *_ = page.following()
    assert page.label([first], 7).json()["tally"]["triggers"] == {"labelled": 1, "total": 100}
    assert page.label([second], "invalid").status_code == 200
    assert labels_of(run, "ann") == {first: 7, second: None}
    assert not {first, second} & set(page.following())


def test_the_page_says_what_the_run_is(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(30)
    (run / "config.yaml").write_text(
        "models: {a: {source: /x/old.onnx}, b: {source: 'http://u:p@h/v2/models/new?k=1'}}"
    )
    facts = open_page(run).get("/api/run")
    assert facts["classes"] == [str(number) for number in range(10)]
    assert (facts["run"], facts["model_a"], facts["model_b"], facts["annotator"]) == ("run", "old.onnx", "new", "ann")


def test_one_of_each_cluster_comes_first(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(400))
    total = tally(page)["clusters"]["total"]
    items: Any = page.get("/api/next", count=total)["items"]
    assert [item["cluster"] for item in items] == list(range(total))
    assert total >= 5


def test_each_cluster_to_its_end_and_from_any(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(400))
    items: Any = page.get("/api/next", order="clusters", cluster=2, count=64)["items"]
    clusters = [item["cluster"] for item in items]
    assert clusters[0] == 2
    assert clusters == sorted(clusters)
    assert clusters.count(2) == items[0]["count"]["total"]


def test_a_cluster_may_come_before_the_others(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(200))
    items: Any = page.get("/api/next", order="spread", cluster=3, count=64)["items"]
    assert {item["cluster"] for item in items[: items[0]["count"]["total"]]} == {3}
    assert len({item["id"] for item in items}) == 64


def test_at_random_everybody_sees_the_same(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(100))
    ann = page.following(order="random", count=64)
    page.annotator = "bo"
    assert page.following(order="random", count=64) == ann
    numbers = [int(one, 16) for one in ann]
    assert numbers == sorted(numbers, key=lambda one: one - (1 << 64 if one >= 1 << 63 else 0))


def test_what_both_models_say_comes_with_a_trigger(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(20)
    page = open_page(run)
    item: Any = page.get("/api/next", count=1)["items"]
    with Archive.open(run / "archive.db", read_only=True) as archive:
        stored = archive.lookup(item[0]["id"])
    assert stored.label_a is not None
    assert item[0]["a"]["label"] == stored.label_a[0]
    assert item[0]["a"]["top"][0] == [stored.label_a[0], pytest.approx(0.6)]
    assert len(item[0]["b"]["top"]) == 3


def test_an_image_is_what_the_models_saw(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(5)
    page = open_page(run)
    for one in page.following():
        picture = Image.open(io.BytesIO(page.client.get(f"/images/{one}.png").content))
        with Archive.open(run / "archive.db", read_only=True) as archive:
            np.testing.assert_array_equal(np.asarray(picture), archive.lookup(one).images[0, ..., 0])


def test_undo_puts_former_labels_back(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(60)
    page = open_page(run)
    first, second, third, *_ = page.following()
    page.label([first], 1)
    page.label([first, second, third], 2)
    assert labels_of(run, "ann") == {first: 2, second: 2, third: 2}
    undone = page.post("/api/undo").json()["undone"]
    assert sorted(undone["ids"]) == sorted([first, second, third])
    assert labels_of(run, "ann") == {first: 1}
    page.post("/api/undo")
    assert labels_of(run, "ann") == {}
    assert page.post("/api/undo").json()["undone"] is None
    assert page.following()[0] == first


def test_what_is_said_again_under_its_name_is_done_once(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(60)
    page = open_page(run)
    first, second, *_ = page.following()
    for _ in range(2):
        page.post("/api/labels", ids=[first], label=1, saying="one")
    page.post("/api/labels", ids=[second], label=2, saying="two")
    answers = [page.post("/api/undo", saying="three").json()["undone"] for _ in range(2)]
    assert [answer["ids"] for answer in answers] == [[second], [second]]
    assert labels_of(run, "ann") == {first: 1}
    assert page.post("/api/undo", saying="four").json()["undone"]["ids"] == [first]
    assert labels_of(run, "ann") == {}
    assert page.post("/api/undo", saying="five").json()["undone"] is None


def test_a_page_of_another_run_has_no_say(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(20)
    page = open_page(run)
    (one,) = page.following(count=1)
    own = str(page.get("/api/run")["identity"])
    for identity, status in ((own, 200), ("0" * 16, 409)):
        page.client.headers["x-run"] = identity
        assert page.label([one], 1).status_code == status
        assert page.client.get("/api/next", params={"annotator": "ann"}).status_code == status
    assert "another one" in page.label([one], 2).json()["error"]
    assert labels_of(run, "ann") == {one: 1}


def test_a_skipped_trigger_comes_again_at_the_end(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(5))
    first, *others = page.following()
    assert page.post("/api/skip", id=first).json()["tally"]["skipped"] == 1
    assert page.following() == [*others, first]
    assert page.post("/api/undo").json()["undone"]["skipped"] is True
    assert page.following() == [first, *others]
    page.post("/api/skip", id=first)
    page.label([first], 3)
    assert tally(page)["skipped"] == 0


def test_a_cluster_is_labelled_at_once_but_for_those_taken_out(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(200)
    page = open_page(run)
    shown: Any = page.get("/api/clusters/2")
    ids = [member["id"] for member in shown["members"]]
    page.label(ids[3:], 4)
    assert labels_of(run, "ann") == dict.fromkeys(ids[3:], 4)
    shown = page.get("/api/clusters/2")
    assert [member["said"] for member in shown["members"]] == [None] * 3 + [4] * (len(ids) - 3)
    assert page.following(cluster=2)[:3] == ids[:3]


def test_clusters_are_listed_with_how_far_one_has_come(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(400))
    everything: Any = page.get("/api/clusters", count=200)
    assert sum(one["total"] for one in everything["clusters"]) == 400
    part: Any = page.get("/api/clusters", start=2, count=3)
    assert part["clusters"] == everything["clusters"][2:5]
    page.label([part["clusters"][0]["id"]], 1)
    part = page.get("/api/clusters", start=2, count=1)
    assert part["clusters"][0]["labelled"] == 1


def test_the_next_cluster_is_one_with_something_to_do(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(400))
    total = tally(page)["clusters"]["total"]
    shown: Any = page.get("/api/clusters/1")
    page.label([member["id"] for member in shown["members"]], 1)
    assert page.get("/api/neighbour", cluster=0, forward=True)["cluster"] == 2
    assert page.get("/api/neighbour", cluster=2, forward=False)["cluster"] == 0
    assert page.get("/api/neighbour", cluster=total - 1, forward=True)["cluster"] == 0


def test_rejected_triggers_are_left_out_but_for_all(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(30)
    reject(run, range(10))
    assert tally(open_page(run))["triggers"]["total"] == 20
    assert tally(open_page(run, everything=True))["triggers"]["total"] == 30


def test_many_classes_are_named_and_counted(make_run: MakeRun, open_page: OpenPage) -> None:
    run = make_run(20, names=[f"kind {number}" for number in range(1000)])
    page = open_page(run)
    assert len(page.get("/api/run")["classes"]) == 1000  # type: ignore[arg-type]
    assert page.label(page.following()[:1], 999).status_code == 200


def test_classes_without_names_have_their_numbers(make_run: MakeRun, open_page: OpenPage) -> None:
    assert open_page(make_run(20, names=None)).get("/api/run")["classes"] == [str(number) for number in range(10)]


def test_class_names_are_text_and_no_markup(make_run: MakeRun, open_page: OpenPage) -> None:
    page = open_page(make_run(20, names=["<script>alert(1)</script>", "b"]))
    answer = page.client.get("/api/run")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["classes"][0] == "<script>alert(1)</script>"


def test_the_archive_alone_is_enough(make_run: MakeRun, open_page: OpenPage, tmp_path: Path) -> None:
    facts = open_page(make_run(10)).get("/api/run")
    assert (facts["model_a"], facts["model_b"]) == ("", "")
