"""One image file as 8-bit pixels; what cannot become them without loss of meaning is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"})


def read_picture(file: Path) -> NDArray[np.uint8]:
    """H x W for a grey image, H x W x 3 for any other; turned as its EXIF orientation says, as viewers show it.

    Raises:
        DataError: it is damaged, far too large, partly transparent, or has no known range of values.
    """
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return _pixels(file, ImageOps.exif_transpose(image))
    except DataError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError) as error:
        raise DataError(f"{file} is too large ({error}): make it smaller or remove it.") from error
    except Exception as error:  # A damaged image raises nearly anything, by its format.
        reason = str(error) or type(error).__name__
        raise DataError(f"{file} cannot be read as an image ({reason}): replace or remove it.") from error


def _pixels(file: Path, image: Image.Image) -> NDArray[np.uint8]:
    if image.mode in ("I", "F"):
        kind = "32-bit whole numbers" if image.mode == "I" else "floating-point numbers"
        raise DataError(f"{file} holds {kind}, whose range is not known; expected 8 or 16 bits: save it with 8 bits.")
    if image.mode.startswith("I;16"):
        return _of_16_bits(file, image)
    grey = image.mode in ("1", "L", "LA")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        _check_opaque(file, np.asarray(image.getchannel("A")) == 255)
    return np.asarray(image.convert("L" if grey else "RGB"))


def _of_16_bits(file: Path, image: Image.Image) -> NDArray[np.uint8]:
    """65,535 is 257 times 255; Pillow's own conversion would cut everything off at 255."""
    values = np.asarray(image)
    if "transparency" in image.info:
        _check_opaque(file, values != image.info["transparency"])
    return np.rint(values / 257).astype(np.uint8)


def _check_opaque(file: Path, opaque: NDArray[np.bool_]) -> None:
    if not opaque.all():
        raise DataError(
            f"{file} is partly transparent, and what is behind it is not known: flatten it onto a background first."
        )
