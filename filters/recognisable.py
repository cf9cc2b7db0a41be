"""The recogniser's verdict: is it about as sure of a trigger as of most real images that it never saw?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.filters.protocol import Candidates, Scores
from diffgan.filters.recogniser import Recogniser, greatest
from diffgan.stats import quantile

#: Of the real images held out, the share that passes.
KEEP = 0.95
#: Of the triggers that a member left out finds valid, the share that passes an adapted filter.
RETAIN = 0.8
#: Triggers that an adapted filter looks at, at most, and of which it needs so many that a member finds valid.
MOST_LOOKED_AT, FEWEST_FOUND_VALID = 2_000, 20


@dataclass(frozen=True, eq=False)
class RecognisableFilter:
    """Passes what classifiers of the run's own data are sure of.

    Attributes:
        recogniser: the classifiers.
        threshold: triggers with a score of at least this pass.
        keep: the share of the real images held out that passes.
    """

    recogniser: Recogniser
    threshold: float
    keep: float
    name: str = "recognisable"

    @classmethod
    def calibrated(cls, recogniser: Recogniser, *, keep: float = KEEP) -> RecognisableFilter:
        """A filter that lets the share `keep` of the real images pass that the recogniser never saw.

        Raises:
            UsageError: the share does not lie above 0 and up to 1.
        """
        if not 0 < keep <= 1:
            raise UsageError(f"The share of real images to keep is {keep:g}; expected above 0 and up to 1, as in 0.95.")
        real = recogniser.confidence(recogniser.held_out.images)
        return cls(recogniser, quantile(real, 1 - keep), keep)

    def adapted(self, candidates: Candidates, *, retain: float = RETAIN) -> RecognisableFilter:
        """The same filter with a threshold that suits these triggers; no labels are needed.

        Each member in turn is left out and plays the judge: valid is what it is surer of than of 5 % of the real
        images. The share of real images to keep is the one at which the others let the share `retain` of those pass,
        on average over the judges. The threshold stays where too few triggers are found valid.

        Args:
            candidates: triggers; at most 2,000 of them, evenly spread, are looked at.
            retain: a share, above 0 and below 1.
        """
        if not 0 < retain < 1:
            raise UsageError(f"The share of valid triggers to retain is {retain:g}; expected above 0 and below 1.")
        every = -(-len(candidates) // MOST_LOOKED_AT)
        triggers = self.recogniser.probabilities(candidates.images[:: max(1, every)])
        real = self.recogniser.probabilities(self.recogniser.held_out.images)
        shares = [
            share
            for judge in range(len(real))
            if (share := _share_dropped(real, triggers, judge=judge, retain=retain)) is not None
        ]
        if not shares:
            return self
        dropped = float(np.mean(shares))
        return replace(self, threshold=quantile(greatest(real), dropped), keep=1 - dropped)

    @property
    def identity(self) -> str:
        """The weights."""
        return f"recognisable-{self.recogniser.identity}"

    def scores(self, candidates: Candidates) -> Scores:
        """The greatest mean probability."""
        return self.recogniser.confidence(candidates.images)

    def reason(self, score: float) -> str:
        """In words, why a trigger with this score does not pass."""
        return f"classifiers of the data are sure of what it shows by {score:.3g}, below {self.threshold:.3g}"


def _share_dropped(
    real: NDArray[np.float32], triggers: NDArray[np.float32], *, judge: int, retain: float
) -> float | None:
    """The share of real images that the others drop where they let `retain` of the judge's valid triggers pass."""
    own, others = [judge], [member for member in range(len(real)) if member != judge]
    if not others:
        return None
    valid = greatest(triggers[own]) > quantile(greatest(real[own]), 1 - KEEP)
    if valid.sum() < FEWEST_FOUND_VALID:
        return None
    threshold = quantile(greatest(triggers[others])[valid], 1 - retain)
    return float(np.mean(greatest(real[others]) < threshold))
