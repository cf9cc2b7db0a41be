"""What can be set of NSGA-II: the `search` section of a configuration."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from diffgan.generators.priors import Prior, UniformPrior
from diffgan.search.diversity import DiversitySettings

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, strict=True)]

_DIVERSITY = TypeAdapter(DiversitySettings)

#: A generation needs two parents.
SMALLEST = 2
#: The most individuals of a first generation that finds follow.
_FIRST_GENERATION = 256


class Nsga2Settings(BaseModel):
    """NSGA-II, and what keeps it from collapsing.

    Attributes:
        population: individuals that survive a generation, and those of the first, at most 256 where finds are parents.
        offspring: children of a generation; as many as the population where left out.
        crossover: the share of pairs that cross (SBX).
        crossover_genes: the share of genes that cross in such a pair.
        crossover_eta: SBX's distribution index: the greater, the nearer children are to their parents.
        mutation: the share of genes that mutate (polynomial mutation).
        mutation_eta: its distribution index: the greater, the smaller the steps.
        class_mutation: the share of children whose class is drawn anew, where the generator is conditional.
        prior: where the first generation and fresh individuals come from, and what bounds the search:
            the `generator`'s own, or `uniform`: -1 to 1 for each gene, whatever the generator was trained with.
        fresh: the share of each generation that comes from the prior.
        explore: while cells (label of A, label of B) are thin, with fewer than 64 finds: the share of the matings that
            goes evenly to all cells, times the share of the cells that are; and a quarter of that is added to the class
            mutation.
        cell_share: the most that one cell may hold of the population while triggers of other
            cells are waiting, or of the matings of the finds; and seven tenths of that of the children that are
            chosen for showing; 1: all of them.
        retire: so many matings, and an individual makes room for others; 0: never.
        drop_known: whether triggers that the archive had already make room for others.
        diversity: see `DiversitySettings`.
        finds: so many distinct triggers that look valid can be parents; 0: the population alone breeds.
        reach: the most children that each of them has in a generation, on average; the population breeds the rest.
        recognised: whether triggers have to look valid for that, to small classifiers of the data.
        screen: children made for each one that the models are shown; 1: no more than are shown; None: up to 16 for the
            small first batches, then 4, or, where time ends the search, as many as pay for what it takes to make them.
        least: the least divergence that they have; None: any trigger's.
        distinct: how far, in cosine distance on thumbnails, they have to be from those of their cell; None: as far as a
            real image is from the next one, the median.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    population: int = Field(1024, ge=SMALLEST, strict=True)
    offspring: Count | None = None
    crossover: Share = 0.25
    crossover_genes: Share = 0.5
    crossover_eta: float = Field(15.0, ge=0, le=1000)
    mutation: Share = 0.3
    mutation_eta: float = Field(0.0, ge=0, le=1000)
    class_mutation: Share = 0.03
    prior: Literal["generator", "uniform"] = "generator"
    fresh: Share = 0.05
    explore: Share = 0.9
    cell_share: float = Field(0.15, gt=0, le=1)
    retire: int = Field(0, ge=0, strict=True)
    drop_known: bool = True
    diversity: DiversitySettings = DiversitySettings()
    finds: int = Field(4096, ge=0, strict=True)
    reach: int = Field(32, ge=1, strict=True)
    recognised: bool = True
    screen: Annotated[int, Field(ge=1, le=64, strict=True)] | None = None
    least: float | None = None
    distinct: float | None = Field(None, ge=0, lt=1)

    @field_validator("diversity", mode="before")
    @classmethod
    def _from_keys(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        # Its types are strict, so that a text is no number; only from JSON do they take keys at all.
        try:
            return _DIVERSITY.validate_json(json.dumps(value))
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
        except TypeError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _searches(self) -> Nsga2Settings:
        if self.crossover == self.mutation == self.fresh == 0:
            raise ValueError("with crossover, mutation and fresh all 0, every child is a copy; raise one of them")
        return self

    @property
    def first(self) -> int:
        """Individuals of the first generation: few where finds lead, whose children are finds far more often."""
        return min(self.population, _FIRST_GENERATION) if self.finds else self.population

    @property
    def children(self) -> int:
        """Of a generation after the first."""
        return self.offspring or self.population

    def class_rate(self, exploring: float) -> float:
        """The share of the finds' children whose class is drawn anew, where this share of the matings explores."""
        return min(1.0, self.class_mutation + exploring / 4)

    def box(self, prior: Prior) -> Prior:
        """The prior that the search samples and stays within, for a generator with that prior."""
        return prior if self.prior == "generator" else UniformPrior()
