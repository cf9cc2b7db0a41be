"""Label Studio's files: what its exports hold, exact round trips, and the task of every mistake."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from diffgan.archive import Archive
from diffgan.errors import ArchiveError, DataError, UsageError
from diffgan.images import hex_id
from diffgan.labels import Form, Tasks, Written, form_of, import_labels, write_tasks
from diffgan.labels.label_studio_export import choice_of, labelling_configuration
from diffgan.labels.texts import ClassTexts

MakeArchive = Callable[..., Archive]
Task = dict[str, Any]


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    return make_archive([1, 2, 3, 4])


@pytest.fixture
def ids(archive: Archive) -> list[str]:
    return [hex_id(number) for number in archive.column("ids")]


def said_in(archive: Archive) -> dict[tuple[int, str], int | None]:
    labels = archive.labels.read()
    return dict(zip(zip(labels.ids.tolist(), labels.annotators, strict=True), labels.classes, strict=True))


def result(*choices: str, name: str = "label", kind: str = "choices") -> list[Task]:
    """As Label Studio writes it."""
    value = {kind: list(choices)}
    origin = {"from_name": name, "to_name": "image", "origin": "manual"}
    return [{"value": value, "id": "Dx_aB91ISN", "type": kind, **origin}]


def annotation(*choices: str, by: Any = 1, at: str = "2026-03-09T22:16:08.728353Z", **other: Any) -> Task:
    known = {"was_cancelled": False, "ground_truth": False, "created_at": at, "updated_at": at, "lead_time": 4.288}
    return {"id": 1001, "completed_by": by, "result": result(*choices) if choices else [], "task": 1, **known, **other}


def task(trigger: str, *annotations: Task, predictions: Any = ()) -> Task:
    data = {"image": "data:image/png;base64,AAAA", "trigger": trigger}
    return {"id": 7, "project": 83, "data": data, "annotations": list(annotations), "predictions": list(predictions)}


def write(path: Path, *tasks: Any) -> Path:
    path.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
    return path


def test_annotations_come_in_by_their_annotators(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    ann = {"id": 3, "email": "ann@example.org", "first_name": "", "last_name": ""}
    file = write(
        tmp_path / "project.json",
        task(ids[0], annotation("bright", by=ann), annotation("invalid", by=12), annotation("0", by={"id": 13})),
        task(ids[1], annotation("dark", by="bo@example.org")),
    )
    done = import_labels(archive, file)
    assert done.labels == {"ann@example.org": 1, "bo@example.org": 1, "user 12": 1, "user 13": 1}
    numbers = archive.column("ids").tolist()
    assert said_in(archive) == {
        (numbers[0], "ann@example.org"): 1,
        (numbers[0], "user 12"): None,
        (numbers[0], "user 13"): 0,
        (numbers[1], "bo@example.org"): 0,
    }


def test_the_flat_export_comes_in_too(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    file = write(
        tmp_path / "min.json",
        {"image": "x", "trigger": ids[0], "id": 7, "label": "dark", "annotator": 1, "annotation_id": 3, "lead_time": 2},
        {
            "image": "x",
            "trigger": ids[1],
            "label": {"choices": ["bright"]},
            "annotator": "bo@x.org",
            "annotation_id": 4,
        },
        {"image": "x", "trigger": ids[1], "label": ["invalid"], "annotator": 1, "annotation_id": 5},
        {"image": "x", "trigger": ids[2], "annotator": 1, "annotation_id": 6},
        {"image": "x", "trigger": ids[3], "annotator": None, "annotation_id": None},
    )
    done = import_labels(archive, file)
    assert done.labels == {"bo@x.org": 1, "user 1": 2}
    assert done.passed_over == {"annotations without a choice": 1, "tasks without annotations": 1}
    assert list(said_in(archive).values()) == [0, 1, None]


def test_what_is_no_label_is_passed_over_and_counted(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    yolo = {"model_version": "yolo", "score": 0.5, "result": result("dark")}
    file = write(
        tmp_path / "project.json",
        task(ids[0], annotation("bright", was_cancelled=True), annotation(), predictions=[yolo, 17]),
        task(ids[1]),
        task(ids[2], annotation("bright")),
    )
    done = import_labels(archive, file)
    assert done.labels == {"user 1": 1}
    assert done.passed_over == {
        "skipped tasks": 1,
        "annotations without a choice": 1,
        "tasks without annotations": 1,
        "predictions": 2,
    }


def test_the_latest_of_an_annotator_counts(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    late, early = annotation("bright", at="2026-03-10T00:00:00Z"), annotation("dark", at="2026-03-09T00:00:00Z")
    done = import_labels(archive, write(tmp_path / "project.json", task(ids[0], late, early)))
    assert (done.new, done.repeated, list(said_in(archive).values())) == (1, 1, [1])


def test_the_latest_counts_in_the_flat_export_too_which_has_the_latest_first(
    archive: Archive, ids: list[str], tmp_path: Path
) -> None:
    late, early = (
        {"trigger": ids[0], "label": label, "annotator": 1, "annotation_id": place, "updated_at": at}
        for place, (label, at) in enumerate([("bright", "2026-03-10T00:00:00Z"), ("dark", "2026-03-09T00:00:00Z")])
    )
    import_labels(archive, write(tmp_path / "min.json", late, early))
    assert list(said_in(archive).values()) == [1]


def test_a_name_that_is_no_text_is_one_clear_line(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    file = write(tmp_path / "project.json", task(ids[0], annotation("bright", by={"email": "\ud800"})))
    with pytest.raises(DataError, match=r"'\\ud800' is no UTF-8: give another name"):
        import_labels(archive, file)
    with pytest.raises(UsageError, match="anm has labelled nothing"):
        write_tasks(archive, tmp_path / "tasks.json", Tasks(annotator="anm"))
    assert not (tmp_path / "tasks.json").exists()


def test_a_control_of_another_name_does_where_it_is_the_only_one(
    archive: Archive, ids: list[str], tmp_path: Path
) -> None:
    other = annotation() | {"result": result("dark", name="digit") + result("fine", name="note", kind="textarea")}
    both = annotation() | {"result": result("sure", name="doubt") + result("bright")}
    import_labels(archive, write(tmp_path / "one.json", task(ids[0], other), task(ids[1], both)))
    assert list(said_in(archive).values()) == [0, 1]
    two = annotation() | {"result": result("dark", name="digit") + result("sure", name="doubt")}
    with pytest.raises(DataError, match="choices named digit, doubt; expected one named label"):
        import_labels(archive, write(tmp_path / "two.json", task(ids[0], two)))


def test_a_judges_prediction_fills_in_and_never_replaces(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    numbers = archive.column("ids")
    archive.labels.write("judge:m1", numbers[:1], [0])
    said = [{"model_version": "judge:m1", "result": result("bright")}]
    file = write(tmp_path / "project.json", task(ids[0], predictions=said), task(ids[1], predictions=said))
    done = import_labels(archive, file)
    assert (done.labels, done.new, done.changed) == ({"judge:m1": 2}, 1, 0)
    assert said_in(archive) == {(int(numbers[0]), "judge:m1"): 0, (int(numbers[1]), "judge:m1"): 1}


def test_annotators_are_named_in_the_call(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    nameless = write(tmp_path / "nameless.json", task(ids[0], annotation("dark", by=None)))
    with pytest.raises(UsageError, match="task 1 does not say who labelled: say it with --annotator NAME"):
        import_labels(archive, nameless)
    assert import_labels(archive, nameless, annotator=" ann ").labels == {"ann": 1}
    named = write(tmp_path / "named.json", task(ids[1], annotation("dark", by=12)))
    with pytest.raises(UsageError, match=r"says who labelled \(user 12\)"):
        import_labels(archive, named, annotator="ann")
    assert import_labels(archive, named, rename={"user 12": "decided"}).labels == {"decided": 1}
    with pytest.raises(UsageError, match="no labels by user 13 to rename; annotators there: user 12"):
        import_labels(archive, named, rename={"user 13": "ann"})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (5, "is 5; expected a task"),
        ({"text": "hello"}, "has neither data"),
        (task("00000000000000ff", annotation("dark")), "the trigger 00000000000000ff is not in"),
        (task("ff", annotation("dark")), "A trigger id is 16 hex digits"),
        (task("{id}") | {"data": {"image": "x"}}, "does not say which trigger it shows"),
        (task("{id}", annotation("grey")), "the label 'grey' is no class"),
        (task("{id}", annotation("dark", "bright")), "has the choices \\['dark', 'bright'\\]; expected one"),
        (task("{id}", annotation() | {"result": [{"type": "choices", "value": {}}]}), "expected a value with a list"),
        (task("{id}", annotation() | {"result": [5]}), "its result are \\[5\\]; expected a list of objects"),
        (task("{id}") | {"annotations": {"a": 1}}, "its annotations are"),
        (task("{id}") | {"annotations": [12]}, "its annotations are \\[12\\]"),
        (task("{id}", annotation("dark", by=[1])), "an annotation is by \\[1\\]"),
        ({"trigger": "{id}", "label": ["dark", "bright"], "annotator": 1}, "has the choices"),
        ({"trigger": "{id}", "label": 5, "annotator": 1}, "has the choices \\[5\\]"),
    ],
)
def test_one_mistake_names_its_task_and_nothing_is_written(
    archive: Archive, ids: list[str], tmp_path: Path, wrong: Any, said: str
) -> None:
    file = tmp_path / "project.json"
    file.write_text(json.dumps([task(ids[0], annotation("dark")), wrong]).replace("{id}", ids[1]))
    with pytest.raises(DataError, match=f"line 1, task 2.*{said}"):
        import_labels(archive, file)
    assert said_in(archive) == {}


def test_a_table_with_the_wrong_ending_is_told(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    table = tmp_path / "labels.json"
    table.write_text(f"id,label,annotator\n{ids[0]},dark,ann\n")
    with pytest.raises(DataError, match="line 1: expected a list of tasks"):
        import_labels(archive, table)
    assert import_labels(archive, table, form=Form.CSV).new == 1
    assert [form_of(Path(name)) for name in ("a.csv", "a.JSON", "a")] == [Form.CSV, Form.LABEL_STUDIO, Form.CSV]


def test_tasks_hold_images_annotations_and_predictions(archive: Archive, ids: list[str], tmp_path: Path) -> None:
    numbers = archive.column("ids")
    archive.labels.write("ann@x.org", numbers[:2], [1, None])
    archive.labels.write("decided", numbers[:1], [0])
    archive.labels.write("judge:m1", numbers[1:2], [1])
    done = write_tasks(archive, tmp_path / "tasks.json", Tasks())
    assert done == Written(tasks=4, labels=3, predictions=1, strangers=("decided",))
    first, second, *_ = json.loads((tmp_path / "tasks.json").read_text())
    assert first["data"]["trigger"] == ids[0]
    kind, _, content = first["data"]["image"].partition(",")
    assert kind == "data:image/png;base64"
    seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))
    assert seen.tolist() == archive.find(numbers[:1]).images[0, ..., 0].tolist()
    by = [(one["completed_by"], one["ground_truth"], one["result"][0]["value"]) for one in first["annotations"]]
    assert by == [
        ({"email": "ann@x.org"}, False, {"choices": ["bright"]}),
        ({"email": "decided"}, True, {"choices": ["dark"]}),
    ]
    (prediction,) = second["predictions"]
    assert (prediction["model_version"], prediction["result"][0]["value"]) == ("judge:m1", {"choices": ["bright"]})
    assert {key: second["annotations"][0]["result"][0][key] for key in ("from_name", "to_name", "type")} == {
        "from_name": "label",
        "to_name": "image",
        "type": "choices",
    }


def test_the_configuration_offers_each_class_and_invalid(archive: Archive, tmp_path: Path) -> None:
    write_tasks(archive, tmp_path / "tasks.json", Tasks())
    view = ElementTree.parse(tmp_path / "tasks.xml").getroot()
    picture, choices = view
    assert (picture.tag, picture.get("name"), picture.get("value")) == ("Image", "image", "$image")
    assert (choices.tag, choices.get("name"), choices.get("toName")) == ("Choices", "label", "image")
    assert [choice.get("value") for choice in choices] == ["dark", "bright", "invalid"]
    keys = [choice.get("hotkey") for choice in choices]
    assert keys == ["0", "1", "x"]


def test_many_classes_are_searched_for_and_awkward_names_are_numbers() -> None:
    names = ('"<&>', "a  b", " c", "d\x00", "invalid", "e\nf", "zoë", *map(str, range(20)))
    texts = ClassTexts(names, len(names))
    choices = ElementTree.fromstring(labelling_configuration(texts))[1]
    assert choices.get("layout") == "select"
    offered = [choice.get("value") or "" for choice in choices]
    assert len(offered) == len(set(offered)) == len(names) + 1
    assert [texts.read(text) for text in offered] == [*range(len(names)), None]
    assert offered[:7] == ['"<&>', "01", "02", "03", "04", "05", "zoë"]


@pytest.mark.parametrize(
    ("tasks", "rows", "labels"),
    [
        (Tasks(kept_only=True), [0, 2, 3], 3),
        (Tasks(conflicts_only=True), [1], 2),
        (Tasks(annotator="ann"), [0, 1, 2, 3], 3),
        (Tasks(blank=True), [0, 1, 2, 3], 0),
        (Tasks(sample=4, blank=True), [0, 1, 2, 3], 0),
    ],
)
def test_only_what_was_asked_for_goes_out(
    archive: Archive, ids: list[str], tmp_path: Path, tasks: Tasks, rows: list[int], labels: int
) -> None:
    numbers = archive.column("ids")
    archive.verdicts.write("ssim", numbers[1:2], passed=np.array([False]), scores=np.array([0.1]), reasons=["no"])
    archive.labels.write("ann", numbers[:3], [0, 0, 0])
    archive.labels.write("bo", numbers[1:3], [1, 0])
    done = write_tasks(archive, tmp_path / "tasks.json", tasks)
    written = json.loads((tmp_path / "tasks.json").read_text())
    assert [one["data"]["trigger"] for one in written] == [ids[row] for row in rows]
    assert (done.tasks, done.labels) == (len(rows), labels)


def test_a_sample_is_by_its_seed_and_in_order(make_archive: MakeArchive, tmp_path: Path) -> None:
    archive = make_archive(range(50))
    order = [hex_id(number) for number in archive.column("ids")]

    def drawn(name: str, seed: int) -> list[int]:
        write_tasks(archive, tmp_path / name, Tasks(sample=10, seed=seed))
        return [order.index(one["data"]["trigger"]) for one in json.loads((tmp_path / name).read_text())]

    first = drawn("a.json", 1)
    assert (len(first), first) == (10, sorted(first))
    assert first == drawn("b.json", 1) != drawn("c.json", 2)
    with pytest.raises(UsageError, match="expected 1 to 50"):
        write_tasks(archive, tmp_path / "d.json", Tasks(sample=51))


def test_nothing_is_overwritten_and_nothing_is_left_behind(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "tasks.xml").write_text("mine")
    with pytest.raises(ArchiveError, match=r"tasks\.xml exists already"):
        write_tasks(archive, tmp_path / "tasks.json", Tasks())
    with pytest.raises(UsageError, match="nothing to label"):
        write_tasks(archive, tmp_path / "other.json", Tasks(conflicts_only=True))
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".db" and "db-" not in path.name] == [
        "tasks.xml"
    ]
    assert (tmp_path / "tasks.xml").read_text() == "mine"


people = st.sampled_from(["ann", "ann@x.org", "judge:m1+m2 (majority)", "decided", "decided:bo", "zoë"])
names = st.lists(st.sampled_from(["a b", " c", "0", "1", "invalid", '<&"']), min_size=2, max_size=4, unique=True)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names, st.dictionaries(st.tuples(st.integers(0, 3), people), st.none() | st.integers(0, 1), max_size=12))
def test_a_round_trip_is_exact(
    make_archive: MakeArchive,
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    given_labels: dict[tuple[int, str], int | None],
) -> None:
    folder = tmp_path_factory.mktemp("round")
    first, second = make_archive([1, 2, 3, 4], names), make_archive([1, 2, 3, 4], names)
    ids = first.column("ids")
    for (row, annotator), label in given_labels.items():
        first.labels.write(annotator, ids[[row]], [label])
    write_tasks(first, folder / "one.json", Tasks())
    import_labels(second, folder / "one.json")
    assert said_in(first) == said_in(second)
    texts = ClassTexts(tuple(names), len(names))
    assert all(texts.read(choice_of(texts, label)) == label for label in range(len(names)))
