"""Thumbnails, in one picture for all: a sheet whose parts the page shows."""

from __future__ import annotations

import io
from base64 import b64encode
from dataclasses import dataclass

import numpy as np

from diffgan.images import ByteImages, ImageSpec

#: The longest side of a thumbnail.
SIDE = 64
#: Of the sheet, as text.
MOST_LETTERS = 3_500_000
_LOSSLESS_BYTES = 600_000
_QUALITIES = (88, 75, 55)
_BLOCK = 8


@dataclass(frozen=True)
class Sheet:
    """All thumbnails in a picture.

    Attributes:
        uri: the picture.
        width, height: of the picture.
        columns: thumbnails in a row.
        step_x, step_y: from one thumbnail to the next.
        thumb_width, thumb_height: of a thumbnail.
        count: how many there are; those added later had no room.
    """

    uri: str
    width: int
    height: int
    columns: int
    step_x: int
    step_y: int
    thumb_width: int
    thumb_height: int
    count: int

    def box(self, place: int) -> str:
        """The part of the picture that is a thumbnail, as SVG's viewBox."""
        row, column = divmod(place, self.columns)
        return f"{column * self.step_x} {row * self.step_y} {self.thumb_width} {self.thumb_height}"


class Album:
    """Collects images; what is added first is certain to be shown.

    Args:
        spec: the size of all images.
    """

    def __init__(self, spec: ImageSpec) -> None:
        self._factor = max(1.0, max(spec.height, spec.width) / SIDE)
        self._size = (max(1, round(spec.width / self._factor)), max(1, round(spec.height / self._factor)))
        self._parts: list[ByteImages] = []
        self._count = 0

    def add(self, images: ByteImages) -> list[int]:
        """The places that the images have on the sheet."""
        first = self._count
        if len(images):
            self._parts.append(images if self._factor == 1.0 else self._reduced(images))
            self._count += len(images)
        return list(range(first, self._count))

    def sheet(self) -> Sheet | None:
        """All that was added, or as much as there is room for; None for nothing."""
        if not self._count:
            return None
        thumbs = np.concatenate(self._parts)
        made = self._best(thumbs)
        while len(made.uri) > MOST_LETTERS and made.count > 1:
            fewer = int(made.count * MOST_LETTERS / len(made.uri) * 0.97)
            made = self._best(thumbs[: max(1, fewer)])
        return made

    def _reduced(self, images: ByteImages) -> ByteImages:
        from PIL import Image

        made = []
        for image in images:
            picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
            small = np.asarray(picture.resize(self._size, Image.Resampling.BOX))
            made.append(small[..., None] if small.ndim == 2 else small)
        return np.stack(made)

    def _best(self, thumbs: ByteImages) -> Sheet:
        """The sheet in the finest form that is small enough, or else in the smallest."""
        forms: list[tuple[str, dict[str, int]]] = [("png", {"optimize": 1})]
        if thumbs.shape[3] == 3 and thumbs.nbytes > _LOSSLESS_BYTES:
            forms = [("jpeg", {"quality": quality, "subsampling": 0}) for quality in _QUALITIES]
        for form, options in forms:
            picture, columns, step_x, step_y = _laid_out(thumbs, 1 if form == "png" else _BLOCK)
            uri = f"data:image/{form};base64,{b64encode(_encoded(picture, form, options)).decode()}"
            if len(uri) <= MOST_LETTERS:
                break
        height, width = thumbs.shape[1:3]
        return Sheet(uri, picture.shape[1], picture.shape[0], columns, step_x, step_y, width, height, count=len(thumbs))


def _laid_out(thumbs: ByteImages, multiple: int) -> tuple[ByteImages, int, int, int]:
    """One picture; blocks of a lossy form do not reach from one thumbnail into another."""
    count, height, width, channels = thumbs.shape
    step_y, step_x = (-(-side // multiple) * multiple for side in (height, width))
    padded = np.pad(thumbs, ((0, 0), (0, step_y - height), (0, step_x - width), (0, 0)), mode="edge")
    columns = max(1, round((count * step_y / step_x) ** 0.5))
    rows = -(-count // columns)
    full = np.zeros((rows * columns, step_y, step_x, channels), dtype=np.uint8)
    full[:count] = padded
    grid = full.reshape(rows, columns, step_y, step_x, channels).transpose(0, 2, 1, 3, 4)
    return grid.reshape(rows * step_y, columns * step_x, channels), columns, step_x, step_y


def _encoded(picture: ByteImages, form: str, options: dict[str, int]) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture).save(buffer, form, **options)
    return buffer.getvalue()
