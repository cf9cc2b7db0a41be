"""The image contract."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from diffgan.errors import DataError
from diffgan.images import ImageSpec, check_bytes, hex_id, id_from_hex, image_ids, to_bytes, to_floats

byte_images = npst.arrays(
    np.uint8, st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 3]))
)


@given(byte_images)
def test_bytes_survive_the_way_to_floats_and_back(images: np.ndarray) -> None:
    floats = to_floats(images)
    assert floats.dtype == np.float32
    assert floats.flags.c_contiguous
    assert np.array_equal(to_bytes(floats), images)


def test_the_channels_move_and_the_pixels_stay() -> None:
    images = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)
    floats = to_floats(images)
    assert floats.shape == (1, 3, 2, 2)
    assert floats[0, 2, 0, 1] == np.float32(5) / np.float32(255)


def test_rounding_is_to_the_nearest_byte_and_clips_rounding_error() -> None:
    values = np.array([-0.0005, 0.4 / 255, 0.6 / 255, 254.6 / 255, 1.0005], dtype=np.float32)
    assert to_bytes(values.reshape(1, 1, 1, 5)).ravel().tolist() == [0, 0, 1, 255, 255]


@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1, np.inf])
def test_values_that_are_no_image_are_refused(value: float) -> None:
    with pytest.raises(DataError, match=r"\[0, 1\]"):
        to_bytes(np.full((1, 1, 2, 2), value, dtype=np.float32))


def test_an_id_is_the_start_of_the_sha256_of_shape_and_bytes() -> None:
    image = np.array([[[[7], [200]]]], dtype=np.uint8)
    # Shape (1, 2, 1) as three little-endian uint32, then the two bytes.
    expected = hashlib.sha256(bytes([1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7, 200])).hexdigest()[:16]
    assert hex_id(image_ids(image)[0]) == expected


def test_an_id_depends_on_the_shape() -> None:
    flat = np.zeros((1, 2, 8, 1), dtype=np.uint8)
    assert image_ids(flat)[0] != image_ids(flat.reshape(1, 4, 4, 1))[0]


@given(st.integers(-(2**63), 2**63 - 1))
def test_hex_ids_go_both_ways(number: int) -> None:
    text = hex_id(number)
    assert len(text) == 16
    assert id_from_hex(text) == number


@pytest.mark.parametrize("text", ["", "xyz", "0" * 15, "g" * 16, "-" + "0" * 15])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="16 hex digits"):
        id_from_hex(text)


def test_grey_images_may_come_without_a_channel() -> None:
    assert check_bytes(np.zeros((2, 4, 5), dtype=np.uint8), "x").shape == (2, 4, 5, 1)


@pytest.mark.parametrize(
    "images", [np.zeros((2, 4, 4, 2), np.uint8), np.zeros((2, 3, 4, 4), np.uint8), np.zeros((2, 4), np.uint8)]
)
def test_a_wrong_shape_names_its_origin(images: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"here\.npz holds images of shape"):
        check_bytes(images, "here.npz")


def test_specs_read_both_forms() -> None:
    assert ImageSpec.of_bytes(np.zeros((1, 4, 5, 3), np.uint8)) == ImageSpec(3, 4, 5)
    assert ImageSpec.of_floats(np.zeros((1, 3, 4, 5), np.float32)) == ImageSpec(3, 4, 5)
    assert str(ImageSpec(3, 4, 5)) == "3×4×5"
