"""How annotators agree, on labels few enough to count."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from diffgan.archive import Archive
from diffgan.labels import Agreement, agreement
from diffgan.labels.agreement import Standing

MakeArchive = Callable[..., Archive]

MEAN, MAJORITY = "judge:m1+m2", "judge:m1+m2 (majority)"
SIX = range(6)


def found_in(archive: Archive) -> Agreement:
    return agreement(archive, rng=np.random.default_rng(0))


def write(archive: Archive, annotator: str, labels: dict[int, int | None]) -> None:
    ids = archive.column("ids")
    archive.labels.write(annotator, ids[list(labels)], list(labels.values()))


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    """Of six triggers, five are labelled by people, and the last by a judge alone."""
    archive = make_archive(SIX)
    write(archive, "ann", {0: 0, 1: 1, 2: 1, 3: None, 4: 0})
    write(archive, "bo", {0: 0, 1: 1, 2: 0, 3: None})
    write(archive, "cy", {0: 0, 1: 0, 2: None})
    write(archive, MEAN, {0: 0, 1: 1, 3: 1, 5: 0})
    write(archive, MAJORITY, {0: 0, 1: 0, 5: 1})
    return archive


def test_how_many_stand_how(archive: Archive) -> None:
    found = found_in(archive)
    assert (found.triggers, found.labelled, found.by_judges_alone) == (6, 6, 1)
    assert (found.settled, found.conflicts, found.decided) == (4, 2, {})
    assert found.people.annotators == {"ann": 5, "bo": 4, "cy": 3}
    # 4 by ann alone; 0 and 3 unanimous; 1 by two of three; 2 is 1, 0 and invalid: three labels, yet two of them valid.
    assert found.people.label == Standing(alone=1, unanimous=2, majority=1, conflict=1)
    assert found.people.validity == Standing(alone=1, unanimous=3, majority=1, conflict=0)
    assert found.judges.annotators == {MEAN: 4, MAJORITY: 3}
    assert found.judges.label == Standing(alone=1, unanimous=1, majority=0, conflict=2)
    assert found.judges.validity == Standing(alone=1, unanimous=3, majority=0, conflict=0)


def test_pairs_are_compared_on_what_both_have_labelled(archive: Archive) -> None:
    pairs = {pair.annotators: pair.agreed for pair in found_in(archive).people.pairs}
    assert list(pairs) == [("ann", "bo"), ("ann", "cy"), ("bo", "cy")]
    # ann 0 1 1 -, bo 0 1 0 -: 3 of 4; by chance .25 · .5 + .5 · .25 + .25 · .25 = .3125.
    label, validity = pairs["ann", "bo"].label, pairs["ann", "bo"].validity
    assert (label.items, label.observed, label.expected) == (4, 0.75, 0.3125)
    assert label.kappa == pytest.approx(0.4375 / 0.6875)
    assert label.interval is not None
    assert (validity.observed, validity.kappa) == (1, 1)
    # ann 0 1 1, cy 0 0 -: 1 of 3; by chance 1/3 · 2/3 = 2/9. Valid: ann always, so as chance has it.
    label, validity = pairs["ann", "cy"].label, pairs["ann", "cy"].validity
    assert label.items == 3
    assert label.kappa == pytest.approx(1 / 7)
    assert [validity.observed, validity.kappa] == pytest.approx([2 / 3, 0])


def test_several_are_compared_by_how_many_have_labelled(archive: Archive) -> None:
    two, three = found_in(archive).people.several
    assert (two.annotators, two.agreed.label.items) == (2, 1)  # 3: both invalid, one category alone
    assert (two.agreed.label.observed, two.agreed.label.kappa) == (1, None)
    # 000, 110, 10-: equal pairs 3, 1 and 0 of 3; of 9 labels, 5 are 0, 3 are 1, one is invalid: 35/81 by chance.
    label = three.agreed.label
    assert (three.annotators, label.items) == (3, 3)
    assert label.observed == pytest.approx(4 / 9)
    assert label.expected == pytest.approx(35 / 81)


def test_judges_stand_apart_and_are_held_against_people(archive: Archive) -> None:
    found = found_in(archive)
    (pair,) = found.judges.pairs
    assert pair.annotators == (MEAN, MAJORITY)
    assert pair.agreed.label.items == 3
    assert pair.agreed.label.observed == pytest.approx(1 / 3)
    against = {pair.annotators: pair.agreed.label for pair in found.judges_and_people}
    # People have settled 0, 1, 3 and 4: class 0, class 1, invalid and class 0.
    assert against[MEAN, "people"].items == 3
    assert against[MEAN, "people"].observed == pytest.approx(2 / 3)
    assert against[MAJORITY, "people"].items == 2


def test_a_decision_ends_a_conflict_and_is_what_judges_are_held_against(archive: Archive) -> None:
    write(archive, "decided", {2: 1, 1: 0})
    found = found_in(archive)
    assert (found.settled, found.conflicts, found.decided) == (5, 1, {"decided": 2})
    assert found.people.label.conflict == 1  # people still stand as they did
    assert {pair.annotators: pair.agreed.label.observed for pair in found.judges_and_people} == {
        (MEAN, "people"): pytest.approx(1 / 3),
        (MAJORITY, "people"): 1,
    }


def test_an_annotator_who_shares_no_trigger_agrees_with_nobody(make_archive: MakeArchive) -> None:
    archive = make_archive(SIX)
    write(archive, "ann", {0: 1})
    write(archive, "bo", {1: 1})
    (pair,) = found_in(archive).people.pairs
    assert (pair.agreed.label.items, pair.agreed.label.observed, pair.agreed.label.kappa) == (0, None, None)
    assert found_in(archive).people.several == ()


@pytest.mark.parametrize("pixels", [(), SIX])
def test_without_labels_there_is_nothing_to_say(make_archive: MakeArchive, pixels: tuple[int, ...]) -> None:
    found = found_in(make_archive(pixels))
    assert (found.triggers, found.labelled, found.settled, found.conflicts) == (len(pixels), 0, 0, 0)
    assert (found.people.pairs, found.judges.pairs, found.judges_and_people) == ((), (), ())


def test_it_is_the_same_every_time_and_fits_in_json(archive: Archive) -> None:
    once, again = (json.dumps(found_in(archive).as_json()) for _ in range(2))
    assert once == again
    assert json.loads(once)["people"]["pairs"][0]["agreed"]["label"]["items"] == 4
