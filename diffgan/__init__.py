"""Finds the images on which two image classifiers disagree, although they score about the same.

`import diffgan` is light: what needs torch is imported when it is first used.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from diffgan._version import __version__
from diffgan.errors import DiffganError

if TYPE_CHECKING:
    from diffgan.archive import Archive
    from diffgan.datasets import Dataset, load_dataset
    from diffgan.models import Classifier, load_classifier
    from diffgan.pipeline import Comparison, compare

# Torch's idle threads spin for milliseconds by default, on cores that the models of a search could use: on 2 cores,
# small models ran at 84 % of their speed. The library that they are from reads this when torch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

_HOMES = {
    "Archive": "diffgan.archive",
    "Classifier": "diffgan.models",
    "Comparison": "diffgan.pipeline",
    "Dataset": "diffgan.datasets",
    "compare": "diffgan.pipeline",
    "load_classifier": "diffgan.models",
    "load_dataset": "diffgan.datasets",
}

__all__ = [
    "Archive",
    "Classifier",
    "Comparison",
    "Dataset",
    "DiffganError",
    "__version__",
    "compare",
    "load_classifier",
    "load_dataset",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'diffgan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
