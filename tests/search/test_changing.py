"""Arrays whose checkpoint is what they were and what changed since."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.search.strategies.changing import Changing


@pytest.mark.parametrize("rounds", [0, 1, 5, 64, 65, 200])
def test_what_is_restored_is_what_is_there_and_goes_on_alike(rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    made = Changing(rng.normal(size=(30, 2)))

    def change(*those: Changing) -> None:
        rows, values = rng.integers(30, size=7), rng.normal(size=(7, 2))
        for one in those:
            one.array[rows] = values
            one.note(rows)

    for _ in range(rounds):
        change(made)
    again = Changing.restored(made.state("it"), "it")
    np.testing.assert_array_equal(again.array, made.array)
    for _ in range(70):
        change(made, again)
        ours, theirs = made.state("it"), again.state("it")
        assert ours.keys() == theirs.keys()
        assert all((ours[name] == theirs[name]).all() for name in ours)
    assert len(made.state("it")) <= 2 * 64 + 1


def test_only_what_changed_is_new_in_a_state_and_nobody_can_write_into_it() -> None:
    made = Changing(np.zeros(5))
    made.array[2] = 1
    made.note(np.array([2, 2]))
    first = made.state("it")
    made.array[4] = 2
    made.note(np.array([4]))
    made.note(np.array([], dtype=np.int64))
    second = made.state("it")
    assert {name: array.tolist() for name, array in second.items()} == {
        "it/was": [0, 0, 0, 0, 0],
        "it/rows/0": [2],
        "it/values/0": [1],
        "it/rows/1": [4],
        "it/values/1": [2],
    }
    assert all(second[name] is array for name, array in first.items())
    assert not any(array.flags.writeable for array in second.values())
