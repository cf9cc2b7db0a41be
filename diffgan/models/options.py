"""How a model wants its images, and what its answers mean: from a sidecar `<file>.yaml` or from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, ValidationError, field_validator, model_validator

from diffgan.errors import ModelError, UsageError

Layout = Literal["NCHW", "NHWC"]

Finite = Annotated[float, Field(allow_inf_nan=False)]
#: Strict, or YAML's yes would be one.
Count = Annotated[int, Field(gt=0, strict=True)]


class ModelOptions(BaseModel):
    """Everything that can be said of a model; what is None is left to its format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Layout | None = Field(None, description="NCHW or NHWC")
    range: tuple[Finite, Finite] = Field((0.0, 1.0), description="the values of black and white, such as [0, 255]")
    mean: tuple[Finite, ...] | None = Field(None, description="subtracted, per channel, after scaling to the range")
    std: tuple[Finite, ...] | None = Field(None, description="divided by, per channel")
    output: Literal["probabilities", "logits", "labels"] = Field("probabilities", description="what the model answers")
    task: Literal["classification"] = Field("classification", description="what the answers are for")
    input_name: str | None = Field(None, description="the model's input, by name")
    output_name: str | None = Field(None, description="the model's output, by name (or number, for torch)")
    features_name: str | None = Field(None, description="a second output, of features")
    batch: Count | None = Field(None, description="exactly so many images at a time (endpoints: at most)")
    threads: Count | None = Field(None, le=1024, description="cores to use (default: all that this process may)")
    classes: tuple[str, ...] | Count | None = Field(None, description="names of the classes, or their number")
    deadline: PositiveFloat = Field(60.0, description="for endpoints: seconds to wait for one batch")
    requests: Count = Field(4, le=256, description="for endpoints: requests in flight at a time")
    token_env: str = Field("DIFFGAN_TOKEN", description="for endpoints: the environment variable with the token")

    @field_validator("mean", "std", mode="before")
    @classmethod
    def _one_for_all(cls, value: object) -> object:
        return (value,) if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    @field_validator("classes", mode="before")
    @classmethod
    def _names_as_text(cls, value: object) -> object:
        return [str(name) for name in value] if isinstance(value, (list, tuple)) else value

    @model_validator(mode="after")
    def _values_fit(self) -> ModelOptions:
        if self.range[0] >= self.range[1]:
            raise ValueError(f"range must rise, such as [0, 255], not {list(self.range)}")
        if self.std is not None and any(value <= 0 for value in self.std):
            raise ValueError(f"std must be positive, not {list(self.std)}")
        if isinstance(self.classes, tuple) and len(set(self.classes)) < len(self.classes):
            twice = next(name for name in self.classes if self.classes.count(name) > 1)
            raise ValueError(f"the class name {twice!r} stands twice in classes; give each class a name of its own")
        return self

    @property
    def class_count(self) -> int | None:
        """How many classes the options speak of, if they do."""
        return len(self.classes) if isinstance(self.classes, tuple) else self.classes

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The names of the classes, if the options have them."""
        return self.classes if isinstance(self.classes, tuple) else None


def parse_assignments(assignments: Sequence[str], flag: str, *, example: str = "output=logits") -> dict[str, Any]:
    """Reads `KEY=VALUE` pairs from the command line; values are YAML.

    Raises:
        UsageError: a pair has no `=`, or its value is not YAML.

    Example:
        >>> parse_assignments(["layout=NHWC", "mean=[0.5]"], "--a")
        {'layout': 'NHWC', 'mean': [0.5]}
    """
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise UsageError(f"{flag} takes KEY=VALUE, such as {flag} {example}, not {assignment!r}.")
        try:
            values[key.strip()] = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise UsageError(f"{flag} {key}: {text!r} is no value that YAML knows ({_first_line(error)}).") from error
    return values


def sidecar_path(source: str) -> Path:
    """Where the sidecar of a model file is looked for: `<file>.yaml` beside it."""
    return Path(source + ".yaml")


def read_sidecar(source: str) -> dict[str, Any]:
    """The sidecar's keys; none where there is no sidecar.

    Raises:
        ModelError: the sidecar is no YAML mapping, or says that the file is a generator.
    """
    path = sidecar_path(source)
    if not path.is_file():
        return {}
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ModelError(
            f"The sidecar {path} cannot be read ({_first_line(error)}): write KEY: VALUE lines."
        ) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ModelError(f"The sidecar {path} holds a {type(content).__name__}; expected KEY: VALUE lines.")
    if "latent" in content:
        raise ModelError(
            f"{source} is a generator (its sidecar has 'latent'), where a classifier is expected: "
            "give a classifier's file, or remove 'latent' from the sidecar."
        )
    return {str(key): value for key, value in content.items()}


def build_options(given: Mapping[str, Any], origin: str) -> ModelOptions:
    """Checks option values.

    Raises:
        UsageError: a key is unknown or a value does not fit; the message names `origin`.
    """
    for key in given:
        if key not in ModelOptions.model_fields:
            near = get_close_matches(key, ModelOptions.model_fields, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(ModelOptions.model_fields)}."
            raise UsageError(f"{origin}: there is no option {key!r}; {hint}")
    try:
        return ModelOptions.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]) if first["loc"] else ""
        message = first["msg"].removeprefix("Value error, ")
        if key not in ModelOptions.model_fields:
            raise UsageError(f"{origin}: {message}.") from error
        about = ModelOptions.model_fields[key].description
        raise UsageError(f"{origin}: {given.get(key)!r} for {key} does not fit: {message}. It is {about}.") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
