"""Which networks there are, and what they are made from: what a card has to say to build them again."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

SMALLEST, LARGEST = 8, 64


class Architecture(BaseModel):
    """Everything that shapes a generator and its discriminator.

    Attributes:
        kind: `dcgan` is convolutional, `mlp` is the reference's dense network.
        latent: the number of latent genes.
        image: channels, height, width.
        classes: how many classes it is conditioned on; None: unconditional.
        width: channels of the generator's last layer (`dcgan`), or a quarter of its first layer (`mlp`).
        discriminator_width: channels of the discriminator's first layer; None: as the generator's.
        patch: a `dcgan`'s last layer writes blocks of so many pixels a side: the greater, the cheaper an image.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["dcgan", "mlp"] = "dcgan"
    latent: PositiveInt = 100
    image: tuple[PositiveInt, PositiveInt, PositiveInt]
    classes: PositiveInt | None = Field(None, ge=2)
    width: PositiveInt = 32
    discriminator_width: PositiveInt | None = None
    patch: Literal[1, 2, 4] = 1

    @model_validator(mode="after")
    def _fits(self) -> Architecture:
        channels, height, width = self.image
        size = f"{channels}×{height}×{width}"
        if channels not in (1, 3):
            raise ValueError(f"images must have 1 or 3 channels, not {channels}")
        if height != width:
            raise ValueError(f"images must be square, not {size}: crop or pad the data")
        if not SMALLEST <= height <= LARGEST:
            raise ValueError(f"images must have sides of {SMALLEST} to {LARGEST}, not {size}: resize the data")
        if self.patch > 1 << self.doublings:
            raise ValueError(f"patch must be at most {1 << self.doublings} for images of {size}, not {self.patch}")
        return self

    @property
    def side(self) -> int:
        """The height, which is the width."""
        return self.image[1]

    @property
    def doublings(self) -> int:
        """How often a `dcgan` doubles its first feature map, of 4 to 7 pixels, to reach the image (or just beyond)."""
        count = 0
        while self.side >= 4 << (count + 1):
            count += 1
        return count

    @property
    def first_side(self) -> int:
        """The side of that first feature map."""
        step = 1 << self.doublings
        return (self.side + step - 1) // step
