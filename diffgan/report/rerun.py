"""How to run it again: the command, and what its result may depend on."""

from __future__ import annotations

import json
import shlex
from typing import Any

from diffgan.report.run import Run, section

_LIMITS = {"seconds": "--budget", "evaluations": "--evaluations", "queries": "--queries", "triggers": "--triggers"}
_OPTIONS = (
    "layout", "range", "mean", "std", "output", "task", "input_name", "output_name", "features_name", "batch",
    "threads", "classes",
)  # fmt: skip
_USUAL = {"range": [0.0, 1.0], "output": "probabilities", "task": "classification"}


def command_of(run: Run) -> str | None:
    """A command that does the same, as far as the folder says; None where it does not say which models it had."""
    config = run.config
    models = [section(section(config, "models"), place) for place in "ab"]
    sources = [str(model.get("source") or "") for model in models]
    if not all(sources):
        return None
    words = ["diffgan", "compare", *sources]
    for flag, value in (
        ("--data", section(config, "data").get("name")),
        ("--generator", section(config, "generator").get("source")),
        ("--strategy", section(config, "strategy").get("name")),
        ("--divergence", config.get("divergence")),
        ("--min-distance", config.get("min_distance")),
        ("--batch", config.get("batch")),
        ("--seed", config.get("seed")),
    ):
        words += [] if value is None else [flag, str(value)]
    for flag, model in zip(("--a", "--b"), models, strict=True):
        words += [word for name, value in _unusual(model) for word in (flag, f"{name}={value}")]
    for name, value in section(config, "budget").items():
        if name in _LIMITS:
            words += [_LIMITS[name], f"{value}s" if name == "seconds" else str(value)]
    return shlex.join(words)


def as_called(run: Run) -> str | None:
    """The command that started the run, as its folder remembers it."""
    words = run.environment.get("command")
    return shlex.join(map(str, words)) if isinstance(words, list) and words else None


def settings_of(run: Run) -> list[tuple[str, str]]:
    """What the result depends on, by name."""
    config = run.config
    found = [
        (f"{what} fingerprint", section(section(config, group), place).get("fingerprint"))
        for what, group, place in (("A's", "models", "a"), ("B's", "models", "b"))
    ]
    found += [(f"{name} fingerprint", section(config, name).get("fingerprint")) for name in ("data", "generator")]
    found += [("strategy settings", section(section(config, "strategy"), "settings") or None)]
    environment: list[tuple[str, Any]] = [
        (name, run.environment.get(name)) for name in ("diffgan", "python", "system", "cores", "torch_threads")
    ]
    packages = section(run.environment, "packages")
    environment += [(name, packages[name]) for name in packages]
    return [(name.replace("_", " "), str(value)) for name, value in [*found, *environment] if value is not None]


def _unusual(model: dict[str, Any]) -> list[tuple[str, str]]:
    """Options that are not a model's usual ones, as the command line takes them."""
    options = section(model, "options")
    chosen = [(name, options.get(name)) for name in _OPTIONS if options.get(name) not in (None, _USUAL.get(name))]
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in chosen]
