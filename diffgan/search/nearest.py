"""The distance of images from the nearest of a few others, by one matrix product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.stats.distances import Float32s, as_rows, check_same_size, cosines_to_distances, directions

Floats = NDArray[np.float64]
#: Images scored at a time, so that their pixels stay in the processor's cache.
_ROWS = 256


class Nearest:
    """Cosine distances on pixels, as `diffgan.stats.cosine_distances` defines them: black images included.

    Only the few images that distances are measured to are kept at length 1; those that are measured are divided by
    their length after the product, which spares a pass over all their pixels. The product runs on one thread: a second
    one of numpy's would get in the way of the models' threads, and cost ten times what it saves.
    """

    def __init__(self, others: ByteImages) -> None:
        from threadpoolctl import ThreadpoolController

        self._numpy = ThreadpoolController().select(user_api="blas")
        unit = directions(others)
        self._others = np.ascontiguousarray(unit[:, :-1].T)
        self._black_cosine = float(unit[:, -1].max(initial=0))

    def distances(self, images: ByteImages) -> Floats:
        """The distance of each of N images from the nearest of the others.

        Raises:
            DataError: the images have another size.
        """
        rows = as_rows(images)
        check_same_size(rows.shape[1], len(self._others))
        cosines = np.empty(len(rows), dtype=np.float32)
        with self._numpy.limit(limits=1):
            for start in range(0, len(rows), _ROWS):
                part = slice(start, start + _ROWS)
                cosines[part] = self._cosines(rows[part])
        return cosines_to_distances(cosines).astype(np.float64)

    def _cosines(self, rows: ByteImages) -> Float32s:
        pixels = rows.astype(np.float32)
        lengths = np.sqrt(np.einsum("np,np->n", pixels, pixels))
        black = lengths == 0
        lengths[black] = 1
        cosines = (pixels @ self._others).max(axis=1) / lengths
        cosines[black] = self._black_cosine
        return np.asarray(cosines)
