"""What can be set of DRFuzz: the `search` section of a configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

#: Mutants held beside the seeds, where the settings do not say: as many as this many bytes hold, but at most MOST.
POOL_BYTES, MOST_MUTANTS, LEAST_MUTANTS = 1 << 22, 2048, 64


class DrfuzzSettings(BaseModel):
    """DRFuzz, with the published values.

    Attributes:
        mutants: of one seed by one operator, in an iteration.
        picks: how often a seed may be picked; a seed picked more often waits until all are.
        pool: how many mutants are held as seeds beside the real images: the latest ones. Where left out, as many as
            4 MiB hold, at most 2,048.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mutants: int = Field(10, ge=1, strict=True)
    picks: int = Field(10, ge=0, strict=True)
    pool: int | None = Field(None, ge=1, strict=True)

    def room(self, image_bytes: int) -> int:
        """How many mutants are held."""
        if self.pool is not None:
            return self.pool
        return min(MOST_MUTANTS, max(LEAST_MUTANTS, POOL_BYTES // image_bytes))
