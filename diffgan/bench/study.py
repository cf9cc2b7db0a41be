"""A study: which pairs, generators, strategies and seeds, under which budget, judged by whom."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from diffgan.bench.metrics import METRICS
from diffgan.durations import parse_duration
from diffgan.search.strategies.protocol import DEFAULT_BATCH
from diffgan.search.strategies.registry import needs_discriminator, needs_generator, strategy_names

#: Without two underlines in a row, which stand between names in the name of a run's folder.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:_?[A-Za-z0-9.+-]+)*_?$", max_length=60)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Count = Annotated[int, Field(gt=0, strict=True)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PairPlan(_Part):
    """Two models; the options say what their sidecars do not."""

    a: str
    b: str
    options_a: dict[str, Any] = Field(default_factory=dict)
    options_b: dict[str, Any] = Field(default_factory=dict)


class StrategyPlan(_Part):
    """A way to search under a name of the study's own, so that one strategy may take part with several settings.

    Attributes:
        strategy: the registered name; by default that in the study.
        settings: of the strategy.
    """

    strategy: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class BudgetPlan(_Part):
    """When a cell ends: at the first limit that is reached."""

    seconds: PositiveFloat | None = None
    evaluations: PositiveInt | None = None

    @field_validator("seconds", mode="before")
    @classmethod
    def _spans(cls, value: object) -> object:
        return parse_duration(value, "budget.seconds") if isinstance(value, str) else value

    @model_validator(mode="after")
    def _ends(self) -> BudgetPlan:
        if self.seconds is None and self.evaluations is None:
            raise ValueError("there is no limit; give seconds, evaluations or both")
        return self


class MarksPlan(_Part):
    """Where the curves are read: in seconds of the search clock, and in queries to both models."""

    seconds: tuple[PositiveFloat, ...] = ()
    queries: tuple[Count, ...] = ()

    @field_validator("seconds", "queries")
    @classmethod
    def _rise(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("marks have to rise, each greater than the one before")
        return value


class JudgePlan(_Part):
    """The models that say which triggers are valid; the first one shows features.

    Attributes:
        models: files.
        features: the name of the first one's second output; None: triggers are told apart by their pixels alone.
    """

    models: tuple[str, ...] = Field(min_length=1)
    features: str | None = "features"


class DiversityPlan(_Part):
    """Diversities of the triggers: the mean over draws of so many unique triggers.

    Attributes:
        metrics: names of `METRICS`.
        sample: triggers of a draw.
        draws: how many.
        features: what the metrics that look at features look at: the pixels themselves, or VGG16's, as the paper does.
        weights: a file with those of VGG16; None: torchvision's, downloaded once.
        sigma: of the geometric diversity.
    """

    metrics: tuple[str, ...] = Field(min_length=1)
    sample: Count = 1000
    draws: Count = 30
    features: Literal["pixels", "vgg16"] = "pixels"
    weights: str | None = None
    sigma: PositiveFloat = 1.0

    @field_validator("metrics")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in METRICS:
                raise ValueError(f"there is no diversity {name!r}; there are: {', '.join(METRICS)}")
        if len(set(value)) < len(value):
            raise ValueError("a diversity stands twice")
        return value

    @model_validator(mode="after")
    def _weighs(self) -> DiversityPlan:
        if self.weights is not None and self.features == "pixels":
            raise ValueError("weights are for features: vgg16")
        return self

    def told(self, metric: str) -> str:
        """A metric's name with what its figures depend on.

        Example:
            >>> DiversityPlan(metrics=("geometric", "shannon")).told("geometric")
            'geometric (pixels, σ 1)'
        """
        means = METRICS[metric]
        parts = [self.features] * means.of_features + [f"σ {self.sigma:g}"] * means.takes_sigma
        return f"{metric} ({', '.join(parts)})" if parts else metric


class Study(_Part):
    """Everything that a study says.

    Attributes:
        name: of the study; by default its file's.
        title: for people.
        data: what the models are for; also what the judge is calibrated on.
        pairs, generators, strategies: by name.
        discriminator: a folder of `gan train`, for strategies that ask one.
        seeds: a list, or how many, from 0.
        budget: of each cell.
        marks: where DV is read.
        judge: None: triggers are only counted.
        diversity: None: it is not measured.
        baseline: the strategy that all others are compared with; the first one is, anyway.
        batch: images at a time.
        keep_runs: whether the runs' folders are kept.
    """

    name: Name
    title: str = ""
    data: str
    pairs: dict[Name, PairPlan] = Field(min_length=1)
    generators: dict[Name, str] = Field(default_factory=dict)
    discriminator: str | None = None
    strategies: dict[Name, StrategyPlan] = Field(min_length=1)
    seeds: tuple[Seed, ...] = Field(min_length=1)
    budget: BudgetPlan
    marks: MarksPlan = MarksPlan()
    judge: JudgePlan | None = None
    diversity: DiversityPlan | None = None
    baseline: str | None = None
    batch: Count = DEFAULT_BATCH
    keep_runs: bool = False

    @field_validator("pairs", mode="before")
    @classmethod
    def _pair_of_two(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        twos = {name: pair for name, pair in value.items() if isinstance(pair, list) and len(pair) == 2}
        return value | {name: {"a": pair[0], "b": pair[1]} for name, pair in twos.items()}

    @field_validator("strategies", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            if len(set(value)) < len(value):
                raise ValueError("a strategy stands twice")
            value = dict.fromkeys(value)
        return {name: plan or {} for name, plan in value.items()} if isinstance(value, dict) else value

    @field_validator("seeds", mode="before")
    @classmethod
    def _counted(cls, value: object) -> object:
        return list(range(value)) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _fits(self) -> Study:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed stands twice in seeds")
        late = [mark for mark in self.marks.seconds if self.budget.seconds is not None and mark > self.budget.seconds]
        if late:
            raise ValueError(f"the mark of {late[0]:g} s lies beyond the budget of {self.budget.seconds:g} s")
        if self.baseline is not None and self.baseline not in self.strategies:
            raise ValueError(f"the baseline {self.baseline!r} is none of the strategies {', '.join(self.strategies)}")
        return self

    @model_validator(mode="after")
    def _has_what_strategies_need(self) -> Study:
        for name in map(self.registered, self.strategies):
            if name not in strategy_names():
                raise ValueError(f"there is no strategy {name!r}; there are: {', '.join(strategy_names())}")
        for name in self.strategies:
            if self.needs_generator(name) and not self.generators:
                raise ValueError(f"there is no generator, but {name} searches one; name it under generators")
            if self.needs_discriminator(name) and self.discriminator is None:
                raise ValueError(
                    f"there is no discriminator, but {name} asks one; name a folder of gan train under discriminator"
                )
        return self

    def registered(self, strategy: str) -> str:
        """The name under which diffgan knows a strategy of the study."""
        return self.strategies[strategy].strategy or strategy

    def needs_generator(self, strategy: str) -> bool:
        """Whether a strategy of the study searches a generator's latents."""
        return needs_generator(self.registered(strategy))

    def needs_discriminator(self, strategy: str) -> bool:
        """Whether a strategy of the study asks a discriminator."""
        return needs_discriminator(self.registered(strategy))
