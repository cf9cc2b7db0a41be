"""What a run's folder says of its data and its models."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DataError, UsageError
from diffgan.models import Classifier
from diffgan.runs import RunFolder


def run_data(folder: Path) -> Dataset:
    """The very data that a run was on.

    Raises:
        UsageError: the folder does not say, or the data is gone or has changed; `--data` is the way out.
    """
    named = _configured(folder).get("data")
    if not isinstance(named, dict) or "name" not in named:
        raise UsageError(f"{folder} does not say which data its run was on: name it with --data.")
    try:
        data = load_dataset(str(named["name"]))
    except DataError as error:
        raise UsageError(f"The run's data cannot be loaded: {error} Or name it with --data.") from error
    if data.fingerprint != named.get("fingerprint"):
        raise UsageError(
            f"{data.name} is no longer the data of the run in {folder} (fingerprint {data.fingerprint[:8]}, not "
            f"{str(named.get('fingerprint'))[:8]}): bring it back, or name other data with --data."
        )
    return data


def is_run_data(folder: Path, data: Dataset) -> bool:
    """Whether a run was on this data, as far as its folder says."""
    named = _configured(folder).get("data")
    return isinstance(named, dict) and named.get("fingerprint") == data.fingerprint


def models_under_test(folder: Path, models: Iterable[Classifier]) -> list[str]:
    """The names of those models that the run compared, by their fingerprint or source."""
    compared = _configured(folder).get("models")
    described = [one for one in compared.values() if isinstance(one, dict)] if isinstance(compared, dict) else []
    fingerprints = {one.get("fingerprint") for one in described}
    sources = {os.path.abspath(str(one.get("source"))) for one in described}  # noqa: PTH100 - an address is no path
    return [
        model.name
        for model in models
        if model.fingerprint in fingerprints or os.path.abspath(model.source) in sources  # noqa: PTH100
    ]


def _configured(folder: Path) -> dict[str, Any]:
    """The run's configuration; empty for an archive that stands alone."""
    return RunFolder(folder).config() if (folder / "config.yaml").is_file() else {}
