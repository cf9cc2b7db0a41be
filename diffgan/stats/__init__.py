"""Packings and DV, intervals, tests and effect sizes: pure functions that many parts need."""

from __future__ import annotations

from diffgan.stats.agreement import Kappa, cohen_kappa, fleiss_kappa
from diffgan.stats.comparisons import (
    TestResult,
    holm,
    mann_whitney,
    mcnemar,
    vargha_delaney,
    wilcoxon,
)
from diffgan.stats.distances import (
    cosine_distances,
    median_nearest_distance,
    nearest_distances,
)
from diffgan.stats.intervals import (
    Interval,
    bootstrap_interval,
    mean,
    median,
    quantile,
    wilson_interval,
)
from diffgan.stats.packing import Packing, Space, greedy_packing
from diffgan.stats.rates import coefficient_of_variation, improvement, validity_share
from diffgan.stats.variety import (
    geometric_diversity,
    reference_geometric_diversity,
    shannon_of_pixels,
    shannon_of_tones,
    vendi_score,
)
from diffgan.stats.yardstick import (
    JudgedTriggers,
    Measurement,
    Yardstick,
    measure,
)

__all__ = [
    "Interval",
    "JudgedTriggers",
    "Kappa",
    "Measurement",
    "Packing",
    "Space",
    "TestResult",
    "Yardstick",
    "bootstrap_interval",
    "coefficient_of_variation",
    "cohen_kappa",
    "cosine_distances",
    "fleiss_kappa",
    "geometric_diversity",
    "greedy_packing",
    "holm",
    "improvement",
    "mann_whitney",
    "mcnemar",
    "mean",
    "measure",
    "median",
    "median_nearest_distance",
    "nearest_distances",
    "quantile",
    "reference_geometric_diversity",
    "shannon_of_pixels",
    "shannon_of_tones",
    "validity_share",
    "vargha_delaney",
    "vendi_score",
    "wilcoxon",
    "wilson_interval",
]
