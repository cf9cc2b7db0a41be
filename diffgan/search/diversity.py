"""Diversity: how far an image is from the representatives of the triggers found so far.

The representatives come from clusters of triggers, which are found anew as the archive grows: at every generation
(`faithful`), or in the background on a sample of bounded size, each time the archive has grown by a factor (`bounded`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from diffgan.errors import DataError, UsageError
from diffgan.images import ByteImages
from diffgan.search.clusters import FAITHFUL, FEWEST, ClusterSettings
from diffgan.search.nearest import Floats, Nearest
from diffgan.search.refits import Refits, RefitsInWorker
from diffgan.search.sample import Positions, Sample

State = dict[str, NDArray[Any]]
Mode = Literal["faithful", "bounded"]

#: A refit is adopted after this part of all evaluations so far: by then it is done, however fast the models are.
_SHARE_WAITED = 4
#: A sample of large images is smaller than its settings say, so that it takes no more than this.
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class DiversitySettings:
    """How diversity is measured.

    Attributes:
        mode: `bounded`, or `faithful`: on all triggers, at every generation.
        stand_ins: so many real images stand in before there are clusters.
        sample: `bounded` clusters at most so many triggers.
        first: the first refit is at so many unique triggers.
        growth: and the next ones each time there are so many times more.
        patience: evaluations for each trigger in a refit that pass, at least, before it is adopted.
        clusters: how clusters are found; `FAITHFUL` where left out in `faithful`.
    """

    mode: Mode = "bounded"
    stand_ins: int = 100
    sample: int = 1000
    first: int = 500
    growth: float = 4.0
    patience: int = 20
    clusters: ClusterSettings | None = None

    #: For configurations that hold these settings.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        if self.mode not in ("faithful", "bounded"):
            raise UsageError(f"Diversity's mode is {self.mode!r}; expected faithful or bounded.")
        for name, least in (("stand_ins", 1), ("sample", 1), ("first", 1), ("patience", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"Diversity's {name} is {getattr(self, name)}; expected {least} or more.")
        if not self.growth > 1:
            raise UsageError(f"Diversity's growth is {self.growth}; expected a factor above 1, such as 2.")


@dataclass(frozen=True)
class Refit:
    """A refit on its way: the triggers it is made of, and the evaluation from which on it counts."""

    positions: Positions
    images: ByteImages
    seen: int
    adopted_at: int


class Diversity:
    """Scores images, and keeps the representatives up to date.

    Same seed, same images and same evaluations give the same representatives, bit for bit, also through `state` and
    `restore`, and wherever the fits run.

    Args:
        real: images of the test set.
        seed: of the stand-ins, the sample and the fits.
        settings: see there.
        refits: where fits run; in a worker process where left out.
        recall: gives observed images back by their positions (0 is the first ever observed), such as an archive can;
            then the state holds positions only.
        left: seconds that a late refit may be waited for; None: as long as it takes. Where they are over, it is
            adopted later, if there is a later.
    """

    def __init__(
        self,
        real: ByteImages,
        *,
        seed: int,
        settings: DiversitySettings | None = None,
        refits: Refits | None = None,
        recall: Callable[[Positions], ByteImages] | None = None,
        left: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._settings = settings or DiversitySettings()
        faithful = self._settings.mode == "faithful"
        self._clusters = self._settings.clusters or (FAITHFUL if faithful else ClusterSettings())
        self._refits = refits or RefitsInWorker()
        self._recall, self._left = recall, left
        self._seed = seed
        self._sample = Sample(seed, None if faithful else min(self._settings.sample, _most_of(real)))
        self._next = 1 if faithful else self._settings.first
        self._refit: Refit | None = None
        self._positions: Positions = np.empty(0, dtype=np.int64)
        self._represent(_stand_ins(real, self._settings.stand_ins, seed))

    @property
    def clusters(self) -> int:
        """How many clusters there are; 0 while real images stand in."""
        return len(self._positions)

    @property
    def representatives(self) -> ByteImages:
        """One image for each cluster, or the real images that stand in."""
        return self._representatives

    def scores(self, images: ByteImages) -> Floats:
        """The cosine distance, on pixels, of each of N images from the nearest representative.

        Raises:
            DataError: the images have another size than the real ones.
        """
        return self._nearest.distances(images)

    def observe(self, images: ByteImages) -> None:
        """Takes new unique triggers, in the order in which they were found."""
        self._sample.add(images)

    def advance(self, evaluations: int) -> None:
        """Adopts and starts refits; to be called once after each batch.

        Args:
            evaluations: of the whole run so far.
        """
        if self._refit is not None and evaluations >= self._refit.adopted_at:
            self._adopt(self._refit)
        if self._refit is None and self._sample.seen >= self._next:
            self._start(evaluations)
            if self._settings.mode == "faithful":
                self.advance(evaluations)

    def begin(self) -> None:
        """Starts what `warm_up` waits for, without waiting: other preparations can go on beside it."""
        self._refits.begin()

    def warm_up(self) -> None:
        """Imports and compiles what fits need, so that the search's clock does not pay for it."""
        self._refits.warm_up()

    def close(self) -> None:
        """Ends what runs in the background; scores can still be asked for."""
        self._refits.close()

    def state(self) -> State:
        """What `restore` needs. The images of the sample are part of it, unless there is `recall`."""
        refit = self._refit
        state: State = {
            "counts": np.array([self._sample.seen, self._next], dtype=np.int64),
            "sample": self._sample.positions,
            "representatives": self._positions,
            "refit": np.empty(0, dtype=np.int64) if refit is None else refit.positions,
            "refit_counts": np.array([] if refit is None else [refit.seen, refit.adopted_at], dtype=np.int64),
        }
        if self._recall is None:
            nothing = self._representatives[:0]
            state["sample_images"] = self._sample.images() if len(state["sample"]) else nothing
            state["representatives_images"] = self._representatives if self.clusters else nothing
            state["refit_images"] = nothing if refit is None else refit.images
        return state

    def restore(self, state: State) -> None:
        """Goes on where `state` was asked for: a refit that was on its way is made once more, of the same triggers."""
        seen, self._next = (int(count) for count in state["counts"])
        self._sample.restore(seen, state["sample"], self._remembered(state, "sample"))
        if len(state["representatives"]):
            self._positions = state["representatives"].astype(np.int64)
            self._represent(self._remembered(state, "representatives"))
        self._refit = None
        if len(state["refit"]):
            seen, adopted_at = (int(count) for count in state["refit_counts"])
            self._order(Refit(state["refit"], self._remembered(state, "refit"), seen, adopted_at))

    def _start(self, evaluations: int) -> None:
        positions, seen = self._sample.positions, self._sample.seen
        wait = max(self._settings.patience * len(positions), evaluations // _SHARE_WAITED)
        if self._settings.mode == "faithful":
            wait, self._next = 0, seen + 1
        while self._next <= seen:
            self._next = math.ceil(self._next * self._settings.growth)
        self._order(Refit(positions, self._sample.images(), seen, evaluations + wait))

    def _order(self, refit: Refit) -> None:
        seed = int(np.random.SeedSequence([self._seed, refit.seen]).generate_state(1)[0])
        self._refits.start(refit.images, seed=seed, settings=self._clusters)
        self._refit = refit

    def _adopt(self, refit: Refit) -> None:
        """Takes the new representatives; where no cluster was found, or time is over, what was there stays."""
        places = self._refits.result(within=self._left())
        if places is None:
            return
        self._refit = None
        if len(places):
            self._positions = refit.positions[places]
            self._represent(refit.images[places])

    def _represent(self, images: ByteImages) -> None:
        self._representatives = np.ascontiguousarray(images)
        self._nearest = Nearest(self._representatives)

    def _remembered(self, state: State, name: str) -> ByteImages:
        positions = state[name]
        if self._recall is None:
            return np.asarray(state[f"{name}_images"], dtype=np.uint8)
        return self._recall(positions) if len(positions) else self._representatives[:0]


def _most_of(images: ByteImages) -> int:
    """How many images of that size a sample may hold."""
    return max(FEWEST, _MOST_BYTES // max(1, math.prod(images.shape[1:])))


def _stand_ins(real: ByteImages, count: int, seed: int) -> ByteImages:
    if not len(real):
        raise DataError("There are no real images to stand in for representatives; expected at least one.")
    places = np.random.default_rng(seed).choice(len(real), size=min(count, len(real)), replace=False)
    return np.asarray(real[np.sort(places)])
