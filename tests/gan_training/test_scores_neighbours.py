"""The measures under the scores: golden values by hand, and torchmetrics' own numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchmetrics.image.fid import FrechetInceptionDistance
from torchmetrics.image.kid import KernelInceptionDistance

from diffgan.errors import DataError
from diffgan.gan_training import neighbours
from diffgan.gan_training.nearness import Among, nearest_to
from diffgan.gan_training.neighbours import Surroundings, surroundings
from diffgan.gan_training.score_distances import frechet_distance, kernel_distance
from diffgan.gan_training.score_results import Estimate


def line(*places: float) -> NDArray[np.float32]:
    return np.array(places, dtype=np.float32)[:, None]


def cloud(count: int, *, seed: int, size: int = 4) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)


def test_fid_of_four_numbers() -> None:
    # Means 1 and 4, variances 2 and 2: 9 + 2 + 2 - 2·2.
    assert frechet_distance(line(0, 2), line(3, 5)) == pytest.approx(9)
    # Means 1 and 5, variances 2 and 8: 16 + 2 + 8 - 2·4.
    assert frechet_distance(line(0, 2), line(3, 7)) == pytest.approx(18)


def test_kid_of_four_numbers() -> None:
    # The kernel is (xy + 1)³: 1 between the first two, 27 between the others, 1, 1, 8 and 27 across: 1 + 27 - 2·37/4.
    assert kernel_distance(line(0, 1), line(1, 2), seed=0) == pytest.approx(9.5)


class Halved(nn.Module):
    num_features = 4

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)[:, :4] / 2


@pytest.mark.filterwarnings("ignore:Metric `Kernel Inception Distance` will save")
def test_features_made_before_give_the_numbers_of_torchmetrics_with_a_network() -> None:
    real, made = (cloud(60, seed=seed, size=6).reshape(60, 1, 2, 3) for seed in (0, 1))
    fid = FrechetInceptionDistance(feature=Halved())
    kid = KernelInceptionDistance(feature=Halved(), subsets=100, subset_size=60)
    for metric in (fid, kid):
        metric.update(torch.from_numpy(real), real=True)
        metric.update(torch.from_numpy(made), real=False)
    first, second = (Halved()(torch.from_numpy(images)).numpy() for images in (real, made))
    assert frechet_distance(first, second) == pytest.approx(float(fid.compute()), rel=1e-5)
    assert kernel_distance(first, second, seed=3) == pytest.approx(float(kid.compute()[0]), rel=1e-4)


def test_kid_leaves_torchs_random_state_alone() -> None:
    real, made = cloud(1200, seed=0), cloud(1200, seed=1)
    before = torch.get_rng_state()
    once = kernel_distance(real, made, seed=5, subsets=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(7)
    assert kernel_distance(real, made, seed=5, subsets=3) == once
    assert kernel_distance(real, made, seed=6, subsets=3) != once


@pytest.mark.parametrize("measure", [frechet_distance, lambda *both: kernel_distance(*both, seed=0)])
def test_one_vector_or_a_value_that_is_no_number_is_refused(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(DataError, match="1 samples"):
        measure(cloud(5, seed=0), cloud(1, seed=0))
    with pytest.raises(DataError, match="finite"):
        measure(cloud(5, seed=0), np.full((5, 4), np.inf, dtype=np.float32))


def test_surroundings_by_hand() -> None:
    # Radii of the real ones: 1 each. Of the samples: 0.4, 0.4, 2, 2. Samples 0.5 and 0.9 lie about 0 and 1 both; only
    # the real 1 lies about a sample (0.9).
    found = surroundings(line(0, 1, 5, 6), line(0.5, 0.9, 10, 12), k=1)
    assert found == Surroundings(precision=0.5, recall=0.25, density=1.0, coverage=0.5)


def test_the_data_itself_is_all_there() -> None:
    real = cloud(200, seed=0)
    found = surroundings(real, real)
    assert (found.precision, found.recall, found.coverage) == (1, 1, 1)
    assert found.density >= 1


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = cloud(150, seed=0), cloud(90, seed=1)
    whole = surroundings(real, made)
    monkeypatch.setattr(neighbours, "_BLOCK_VALUES", 1000)
    assert surroundings(real, made) == whole


def test_a_shift_far_from_the_origin_changes_nothing() -> None:
    real, made = (cloud(60, seed=seed).round(2) for seed in (0, 1))
    assert surroundings(real + 1024, made + 1024).coverage == pytest.approx(surroundings(real, made).coverage, abs=0.02)


def test_too_few_for_neighbours() -> None:
    with pytest.raises(DataError, match="5 samples; expected more than 5"):
        surroundings(cloud(10, seed=0), cloud(5, seed=0))


def test_copies_are_nearer_than_real_images_are_to_one_another() -> None:
    real = cloud(300, seed=0)
    among = Among(real)
    copies, new = among.nearness(real[:100]), among.nearness(cloud(100, seed=1))
    assert (copies.samples, copies.closer) == (0, 1)
    assert new.samples == pytest.approx(new.real, rel=0.5)
    assert new.closer < 0.2


def test_nearest_by_hand() -> None:
    others = np.array([[1, 0], [0, 0]], dtype=np.float32)
    vectors = np.array([[5, 0], [0, 2], [0, 0], [3, 4]], dtype=np.float32)
    np.testing.assert_allclose(nearest_to(vectors, others), [0, 1, 0, 0.4], atol=1e-6)


def test_intervals_by_hand() -> None:
    # Student's t with 2 degrees of freedom: 4.302653; the deviation is 1, over √3.
    found = Estimate.of([1.0, 2.0, 3.0])
    assert (found.mean, found.low, found.high) == pytest.approx(
        (2, 2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), rel=1e-5
    )
    assert Estimate.of([4.0]) == Estimate(mean=4.0, low=None, high=None)
