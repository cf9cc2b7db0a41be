"""The image contract, and the way between its two forms.

In memory, images are float32 in [0, 1], N x C x H x W: what classifiers and generators take and give.
On disk, and wherever a byte counts, they are uint8, N x H x W x C: what npz files, PNG and the archive hold.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError

FloatImages = NDArray[np.float32]
ByteImages = NDArray[np.uint8]


@dataclass(frozen=True)
class ImageSpec:
    """The size of one image."""

    channels: int
    height: int
    width: int

    def __str__(self) -> str:
        return f"{self.channels}×{self.height}×{self.width}"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels first, as in memory."""
        return (self.channels, self.height, self.width)

    @classmethod
    def of_floats(cls, images: FloatImages) -> ImageSpec:
        """The spec of a float batch, N x C x H x W."""
        _, channels, height, width = images.shape
        return cls(channels, height, width)

    @classmethod
    def of_bytes(cls, images: ByteImages) -> ImageSpec:
        """The spec of a byte batch, N x H x W x C."""
        _, height, width, channels = images.shape
        return cls(channels, height, width)


def to_bytes(images: FloatImages) -> ByteImages:
    """Rounds float images (N x C x H x W, [0, 1]) to bytes (N x H x W x C).

    Raises:
        DataError: a value is NaN or lies outside [0, 1] by more than rounding error.

    Example:
        >>> import numpy as np
        >>> to_bytes(np.array([[[[0.0, 0.5, 1.0]]]], dtype=np.float32)).ravel().tolist()
        [0, 128, 255]
    """
    if images.size and not (images.min() >= -1e-3 and images.max() <= 1 + 1e-3):
        raise DataError(
            f"Images must lie in [0, 1], but these range from {images.min():.3g} to {images.max():.3g} "
            "(nan: not a number). Scale them first."
        )
    scaled = np.rint(images * np.float32(255))
    np.clip(scaled, 0, 255, out=scaled)
    return np.ascontiguousarray(scaled.astype(np.uint8).transpose(0, 2, 3, 1))


def to_floats(images: ByteImages) -> FloatImages:
    """Turns bytes (N x H x W x C) into float images (N x C x H x W, [0, 1]); the inverse of `to_bytes`."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255)


def image_ids(images: ByteImages) -> NDArray[np.int64]:
    """One 64-bit number per image: the start of the SHA-256 of its shape (three uint32, H, W, C) and its bytes.

    The same image has the same id in every run; `hex_id` writes it for people.
    """
    contiguous = np.ascontiguousarray(images)
    start = hashlib.sha256(np.array(images.shape[1:], dtype="<u4").tobytes())
    digests = bytearray()
    for image in contiguous:
        digest = start.copy()
        digest.update(image.data)
        digests += digest.digest()[:8]
    return np.frombuffer(bytes(digests), dtype=">i8").astype(np.int64)


def hex_id(number: int) -> str:
    """An id as 16 hex digits.

    Example:
        >>> hex_id(-1)
        'ffffffffffffffff'
    """
    return f"{int(number) & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def id_from_hex(text: str) -> int:
    """The 64-bit number that `hex_id` wrote.

    Raises:
        DataError: the text is not 16 hex digits.
    """
    if not re.fullmatch("[0-9a-fA-F]{16}", text):
        raise DataError(f"A trigger id is 16 hex digits, not {text!r}: copy it from an export or the report.")
    unsigned = int(text, 16)
    return unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned


def check_bytes(images: object, origin: str) -> ByteImages:
    """The same array, once it is certain to be uint8, N x H x W x C with C 1 or 3.

    Raises:
        DataError: it is not; the message names `origin`.
    """
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8:
        given = images.dtype if isinstance(images, np.ndarray) else type(images).__name__
        raise DataError(f"{origin} holds images of type {given}; expected uint8 (0 to 255): convert them first.")
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape[1:]:
        raise DataError(
            f"{origin} holds images of shape {images.shape}; expected N×H×W×C with C 1 or 3 (or N×H×W): transpose them."
        )
    return np.ascontiguousarray(images)
