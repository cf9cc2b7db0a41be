"""A comparison that is killed at any moment goes on to the archive of one that was not."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive

#: A strategy with refits, models that are cheap, and a line for each batch, so that a kill can be timed.
SCRIPT = """
import sys
from contextlib import contextmanager
from pathlib import Path
import numpy as np
from diffgan.pipeline import compare
from diffgan.watching import Silent

def model(noise):
    weights = np.random.default_rng(0).normal(size=(64, 10))
    weights = weights + noise * np.random.default_rng(1).normal(size=weights.shape)
    def predict(images):
        logits = 3 * (images.reshape(len(images), -1) @ weights)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return predict

class Told(Silent):
    @contextmanager
    def searching(self, search, classes):
        yield lambda moment: print(moment.spent.evaluations, flush=True)

out, resume = Path(sys.argv[1]), (Path(sys.argv[1]) / "archive.db").exists()
compare(model(0.0), model(0.2), data="digits:test", generator=Path(sys.argv[2]), out=out, resume=resume,
        strategy=sys.argv[3], evaluations=6000, batch=200, seed=2, filters=False, report=False, watcher=Told())
"""


def start(out: Path, gan: Path, strategy: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(out), str(gan), strategy]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def content(folder: Path) -> list[bytes]:
    with Archive.open(folder / "archive.db", read_only=True) as archive:
        names = ("ids", "images", "outputs_a", "latents", "classes", "evaluation", "parent", "queries_a")
        return [archive.column(name).tobytes() for name in names]


@pytest.fixture(scope="module")
def gan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from diffgan.datasets import load_dataset
    from diffgan.gan_training.settings import TrainingSettings
    from diffgan.gan_training.training import Training

    folder = tmp_path_factory.mktemp("gan") / "g"
    settings = TrainingSettings(steps=100, width=4, discriminator_width=4, batch=16, latent=8)
    Training(load_dataset("digits:test"), settings, folder).run()
    return folder


@pytest.mark.parametrize("strategy", ["random", "nsga2"])
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path, gan: Path, strategy: str) -> None:
    moments = random.Random(5)
    with start(tmp_path / "whole", gan, strategy) as whole:  # beside the others: most of it is imports, on one core
        for _ in range(2):
            with start(tmp_path / "killed", gan, strategy) as running:
                assert running.stdout is not None
                patience = moments.randrange(3, 10)
                for number, _line in enumerate(running.stdout):
                    if number == patience:
                        running.send_signal(signal.SIGKILL)
                        break
                running.wait(timeout=200)
        whole.communicate(timeout=200)
    assert whole.returncode == 0
    with start(tmp_path / "killed", gan, strategy) as last:
        last.communicate(timeout=200)
    assert last.returncode == 0
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    with Archive.open(tmp_path / "whole" / "archive.db", read_only=True) as archive:
        assert archive.count() > 30
        assert strategy == "random" or np.count_nonzero(archive.column("parent")) > 20
