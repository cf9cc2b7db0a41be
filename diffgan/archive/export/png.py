"""One image as PNG."""

from __future__ import annotations

import io

from diffgan.images import ByteImages


def encode_png(image: ByteImages) -> bytes:
    """PNG bytes of one image, H x W x C: grey for one channel, RGB for three."""
    from PIL import Image

    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return file.getvalue()
