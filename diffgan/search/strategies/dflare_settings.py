"""What can be set of DFlare: the `search` section of a configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class DflareSettings(BaseModel):
    """DFlare, with the published values but for the timeout.

    Attributes:
        lanes: seeds that are mutated side by side; as many as a batch holds where left out.
        patience: mutants of a seed before the next one has its turn. (Published are 240 seconds, which no two machines
            would end alike.)
        gain: by how much a mutant has to raise the difference of the greatest probabilities.
        distance: the squared distance from all answers before, beyond which a mutant is accepted as something new.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    lanes: int | None = Field(None, ge=1, strict=True)
    patience: int = Field(1000, ge=1, strict=True)
    gain: float = Field(1e-3, ge=0)
    distance: float = Field(0.5, ge=0)
