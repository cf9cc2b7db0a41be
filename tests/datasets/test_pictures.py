"""Image files of every mode: their true pixels, or one clear line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from diffgan.datasets.pictures import read_picture
from diffgan.errors import DataError

_ORIENTATION = 0x0112


def saved(path: Path, image: Image.Image, **options: Any) -> NDArray[np.uint8]:
    image.save(path, **options)
    return read_picture(path)


def palette_image() -> Image.Image:
    """2 x 2 pixels of the second of two colours."""
    image = Image.new("P", (2, 2), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    return image


@pytest.mark.parametrize("ending", ["png", "tif"])
def test_16_bits_are_scaled_to_8_and_rounded(tmp_path: Path, ending: str) -> None:
    values = np.array([[0, 128, 129, 257, 32768, 65535]], dtype=np.uint16)
    # Divided by 257: 0, 0.498, 0.502, 1, 127.502, 255.
    assert saved(tmp_path / f"a.{ending}", Image.fromarray(values)).tolist() == [[0, 0, 1, 1, 128, 255]]


@pytest.mark.parametrize(("kind", "message"), [(np.float32, "floating-point"), (np.int32, "32-bit whole numbers")])
def test_values_without_a_known_range_are_refused(tmp_path: Path, kind: type, message: str) -> None:
    with pytest.raises(DataError, match=rf"a\.tif holds {message}.*save it with 8 bits"):
        saved(tmp_path / "a.tif", Image.fromarray(np.full((2, 2), 0.5).astype(kind)))


@pytest.mark.parametrize(("mode", "colour", "pixel"), [("LA", (9, 255), 9), ("RGBA", (1, 2, 3, 255), [1, 2, 3])])
def test_an_opaque_alpha_is_dropped(tmp_path: Path, mode: str, colour: tuple[int, ...], pixel: object) -> None:
    assert saved(tmp_path / "a.png", Image.new(mode, (3, 2), colour)).tolist() == [[pixel] * 3] * 2


@pytest.mark.parametrize(
    ("image", "options"),
    [
        (Image.new("LA", (2, 2), (9, 254)), {}),
        (Image.new("RGBA", (2, 2), (1, 2, 3, 0)), {}),
        (palette_image(), {"transparency": 1}),
        (palette_image(), {"transparency": b"\xff\x80"}),
        (Image.new("L", (2, 2), 7), {"transparency": 7}),
        (Image.new("RGB", (2, 2), (1, 2, 3)), {"transparency": (1, 2, 3)}),
        (Image.fromarray(np.full((2, 2), 700, np.uint16)), {"transparency": 700}),
    ],
    ids=["grey", "colour", "palette", "palette-partly", "grey-value", "colour-value", "16-bit-value"],
)
def test_any_transparency_is_refused(tmp_path: Path, image: Image.Image, options: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"a\.png is partly transparent.*flatten"):
        saved(tmp_path / "a.png", image, **options)


def test_a_transparent_colour_that_no_pixel_has_does_not_matter(tmp_path: Path) -> None:
    assert saved(tmp_path / "a.png", Image.new("L", (1, 1), 7), transparency=8).tolist() == [[7]]
    wide = Image.fromarray(np.full((1, 1), 257, np.uint16))
    assert saved(tmp_path / "b.png", wide, transparency=8).tolist() == [[1]]


def test_palettes_with_an_opaque_alpha_are_read_without_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pixels = saved(tmp_path / "a.png", palette_image(), transparency=b"\x80\xff")
    assert pixels.tolist() == [[[10, 20, 30]] * 2] * 2
    assert not caught


@pytest.mark.parametrize("limit", [10, 4], ids=["warning", "error"])
def test_a_very_large_image_is_refused_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    # Pillow warns from the limit on, and refuses from twice the limit on.
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(DataError, match=r"a\.png is too large .* make it smaller"):
            read_picture(tmp_path / "a.png")
    assert not caught


@pytest.mark.parametrize(
    ("orientation", "expected"),
    [(1, [[0, 255], [0, 255], [0, 255]]), (3, [[255, 0]] * 3), (6, [[0] * 3, [255] * 3])],
)
def test_a_picture_is_turned_as_its_exif_says(tmp_path: Path, orientation: int, expected: list[list[int]]) -> None:
    # Black on the left, white on the right; orientation 6 turns it clockwise, so that black is at the top.
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    blocks = np.repeat(np.repeat(np.array([[0, 255]] * 3, np.uint8), 8, axis=0), 8, axis=1)
    pixels = saved(tmp_path / "a.jpg", Image.fromarray(blocks), exif=exif, quality=100)
    np.testing.assert_allclose(pixels[4::8, 4::8], expected, atol=2)


@pytest.mark.parametrize("error", [IndexError("askew"), MemoryError()])
def test_any_fault_of_a_decoder_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(Image, "open", fail)
    with pytest.raises(DataError, match=r"a\.png (cannot be read as an image \(askew\)|is too large)"):
        read_picture(tmp_path / "a.png")
