"""What can be set of DiffChaser: the `search` section of a configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class DiffchaserSettings(BaseModel):
    """DiffChaser; its sizes and rates are not published, and those here are our choice.

    Attributes:
        population: images that a seed has.
        k: how many of a model's greatest probabilities are to come together.
        mutation: the share of children that mutate.
        patience: generations of a seed before the next one has its turn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    population: int = Field(16, ge=2, strict=True)
    k: int = Field(2, ge=2, strict=True)
    mutation: float = Field(0.7, ge=0, le=1)
    patience: int = Field(30, ge=1, strict=True)
