"""Which filters a run has, and how strict they are: the `filters` section of a configuration."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diffgan.errors import UsageError
from diffgan.filters.duplicates import Order
from diffgan.filters.recognisable import KEEP
from diffgan.filters.similarity import THRESHOLD

#: Of real images that nothing was trained on, the share that passes.
Keep = Annotated[float, Field(gt=0, le=1)]


class FilterSettings(BaseModel):
    """The chain, in this order; a filter that is None, or another package's that is not named, is left out.

    Attributes:
        recognisable: the share of held-out real images that pass; where `adapted`, the threshold that suits the
            triggers stands in for it.
        adapted: see `RecognisableFilter.adapted`.
        discriminator: the same share, by the discriminator.
        ssim: the least SSIM with the most similar real image.
        distance: triggers nearer than this to one that is kept are duplicates.
        keep: which one of near ones is kept.
        others: filters of other packages by name, with their options.
        thresholds: in place of what a filter has worked out for itself, by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    recognisable: Keep | None = KEEP
    adapted: bool = True
    discriminator: Keep | None = None
    ssim: Annotated[float, Field(ge=-1, le=1)] | None = THRESHOLD
    distance: Annotated[float, Field(gt=0, le=2)] | None = None
    keep: Order = "first"
    others: dict[str, dict[str, Any]] = {}
    thresholds: dict[str, float] = {}


def read_filter_settings(section: object, origin: str) -> FilterSettings:
    """The settings of a configuration's section.

    Raises:
        UsageError: a key or a value does not fit.
    """
    try:
        return FilterSettings.model_validate({} if section is None else section)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(["filters", *(str(part) for part in first["loc"])])
        raise UsageError(f"{origin}: {where} does not fit: {first['msg'].removeprefix('Value error, ')}.") from error
