"""Lists in JSON, item by item: every one, whatever its place in the file, and the line of every mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffgan.errors import DataError
from diffgan.labels import json_lists
from diffgan.labels.json_lists import read_items

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def read(path: Path, content: str | bytes) -> list[Any]:
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return [item.value for item in read_items(path, what="task")]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(st.dictionaries(st.text(), values, max_size=4), max_size=5), indent=st.sampled_from([None, 2]))
def test_all_items_are_read_however_little_is_read_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, chunk: int, items: list[Any], indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("items") / "list.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lists, "_CHUNK", chunk)
        assert read(path, json.dumps(items, indent=indent)) == items
        assert read(path, "\ufeff \r\n" + json.dumps(items, indent=indent, ensure_ascii=True) + "\n") == items


def test_each_item_says_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text('[{"a":\n1}, {},\n\n{"b": 2}]')
    places = [item.place.removeprefix(f"{path}, ") for item in read_items(path, what="task")]
    assert places == ["line 1, task 1", "line 2, task 2", "line 4, task 3"]


@pytest.mark.parametrize("chunk", [1, 1 << 20])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", r"line 1: expected a list of tasks, \[, but there is the end of the file"),
        ('{"images": []}', r"line 1: expected a list of tasks, \[, but there is '{'"),
        ("\n\n[", "line 3: this is no JSON"),
        ('[{"a": 1}', "line 1: expected a comma or ], but there is the end of the file"),
        ('[{"a": 1}\n{"a": 2}]', "line 2: expected a comma or ]"),
        ('[{"a": 1},\n{"a" 2}]', r"line 2: this is no JSON \(Expecting ':' delimiter\)"),
        ('[{"a":\n\n"cut', r"line 3: this is no JSON \(Unterminated string"),
        ('[{"a": 1},\n]', "line 2: this is no JSON"),
        ("[{}]\n[{}]", "line 2: something follows the list"),
        (b'[{"a": "x"},\n{"a": "\xe9"}]', "line 2: this is no UTF-8"),
        ("[" * 200_000, "more than JSON readers take"),
        ('[{"a": ' + "9" * 5000 + "}]", "more than JSON readers take"),
    ],
)
def test_a_mistake_names_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, content: str | bytes, said: str
) -> None:
    monkeypatch.setattr(json_lists, "_CHUNK", chunk)
    with pytest.raises(DataError, match=said):
        read(tmp_path / "list.json", content)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_items(tmp_path / "none.json", what="task"))


def test_an_item_without_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lists, "_CHUNK", 1 << 10)
    monkeypatch.setattr(json_lists, "LONGEST_ITEM", 1 << 14)
    with pytest.raises(DataError, match="task 2 is longer than"):
        read(tmp_path / "list.json", '[{},{"image": "' + "A" * (1 << 20) + '"}]')
