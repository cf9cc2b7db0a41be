"""When a search ends: the first of several limits that is reached."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt


class Spent(BaseModel):
    """What a search has used and found so far.

    Attributes:
        seconds: of the search clock; imports, warm-up and training stand outside it.
        evaluations: images that were shown to both models.
        queries_a, queries_b: images that each model classified, confirmations included.
        triggers: evaluations that triggered.
        unique: triggers whose image was new to the archive.
    """

    model_config = ConfigDict(frozen=True)

    seconds: float = 0.0
    evaluations: int = 0
    queries_a: int = 0
    queries_b: int = 0
    triggers: int = 0
    unique: int = 0


class Budget(BaseModel):
    """Limits; None: no such limit.

    Attributes:
        seconds: of the search clock.
        evaluations: images shown to both models.
        queries: images classified by either model.
        triggers: unique triggers.
    """

    model_config = ConfigDict(frozen=True)

    seconds: PositiveFloat | None = None
    evaluations: PositiveInt | None = None
    queries: PositiveInt | None = None
    triggers: PositiveInt | None = None

    def reached(self, spent: Spent) -> str | None:
        """The limit that ends the search; None: it may go on.

        Example:
            >>> Budget(seconds=60, evaluations=1000).reached(Spent(seconds=3, evaluations=1000))
            'evaluations'
        """
        used = {
            "seconds": spent.seconds,
            "evaluations": spent.evaluations,
            "queries": spent.queries_a + spent.queries_b,
            "triggers": spent.unique,
        }
        for name, amount in used.items():
            limit = getattr(self, name)
            if limit is not None and amount >= limit:
                return name
        return None

    def room(self, spent: Spent, size: int) -> int:
        """How many of `size` images may still be evaluated, so that counted limits are met exactly."""
        if self.evaluations is not None:
            size = min(size, self.evaluations - spent.evaluations)
        if self.queries is not None:
            # Both models see each image; an odd last query is left unused.
            size = min(size, (self.queries - spent.queries_a - spent.queries_b) // 2)
        return max(size, 0)

    @property
    def counted(self) -> bool:
        """Whether a limit may end the search within a batch."""
        return self.evaluations is not None or self.queries is not None

    def share(self, spent: Spent) -> float:
        """How much of the nearest limit is used up, from 0 to 1; 0 without limits."""
        used = [
            (spent.seconds, self.seconds),
            (spent.evaluations, self.evaluations),
            (spent.queries_a + spent.queries_b, self.queries),
            (spent.unique, self.triggers),
        ]
        return min(1.0, max((amount / limit for amount, limit in used if limit is not None), default=0.0))
