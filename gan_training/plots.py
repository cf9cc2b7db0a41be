"""Optuna's own plots of a study, as pictures."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffgan.drafts import replacing
from diffgan.gan_training.study import FINAL

if TYPE_CHECKING:
    from optuna import Study

FOLDER = "plots"

#: The long trainings are better by their length: plots of what the values do are without them.
_OF_VALUES = ("slice", "parallel", "importances")

#: Axes beside one another, whose labels would overlap.
_WIDE = ("parallel",)

#: Complete trials that a plot needs to say anything.
_FEWEST = {"history": 1, "intermediate": 0, "slice": 2, "parallel": 2, "importances": 6}


def write_plots(study: Study, out: Path) -> list[Path]:
    """Writes the plots that there are trials enough for.

    Raises:
        OSError: the disk refuses.
    """
    if not study.get_trials(deepcopy=False):
        return []
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    written = []
    with _quiet():
        alike = _without_final(study)
        for name, plot in _plots().items():
            shown = alike if name in _OF_VALUES else study
            path = folder / f"{name}.png"
            if _complete(shown) >= _FEWEST[name] and _write(path, plot, shown):
                written.append(path)
    return written


def _without_final(study: Study) -> Study:
    import optuna

    copied = optuna.create_study(direction="minimize")
    copied.add_trials(trial for trial in study.get_trials(deepcopy=False) if not trial.user_attrs.get(FINAL))
    return copied


def _complete(study: Study) -> int:
    return sum(trial.state.name == "COMPLETE" for trial in study.get_trials(deepcopy=False))


def _plots() -> dict[str, Callable[[Study], Any]]:
    from optuna.visualization import matplotlib as plots

    return {
        "history": lambda study: plots.plot_optimization_history(study, target_name="score"),
        "intermediate": plots.plot_intermediate_values,
        "slice": lambda study: plots.plot_slice(study, target_name="score"),
        "parallel": lambda study: plots.plot_parallel_coordinate(study, target_name="score"),
        "importances": lambda study: plots.plot_param_importances(study, target_name="score"),
    }


def _write(path: Path, plot: Callable[[Study], Any], study: Study) -> bool:
    from matplotlib import pyplot

    try:
        drawn = plot(study)
        axes = drawn.flat[0] if hasattr(drawn, "flat") else drawn
        if path.stem in _WIDE:
            axes.figure.set_size_inches(15, 6)
        with replacing(path) as draft:
            axes.figure.savefig(draft, format="png", dpi=110, bbox_inches="tight")
        return True
    except (ValueError, RuntimeError, ArithmeticError):
        # All trials alike, say: the other plots are worth having all the same.
        return False
    finally:
        pyplot.close("all")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without a window, and without the remarks that these plots are an experiment of Optuna's."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
