"""What every model adapter has to keep, as tests to inherit.

Example:
    ```python
    class TestMyAdapter(ClassifierConformance):
        @pytest.fixture
        def source(self, tmp_path):
            return export_my_model(tmp_path)

        @pytest.fixture
        def spec(self):
            return ImageSpec(1, 28, 28)
    ```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from diffgan.errors import ModelError
from diffgan.images import FloatImages, ImageSpec
from diffgan.models import Classifier, load_classifier
from diffgan.models.loading import Source


class ClassifierConformance:
    """Override `source` and `spec`, and `options` where the model needs some."""

    #: How far an answer may be from the answer to the same image in another batch.
    tolerance = 1e-4

    @pytest.fixture
    def source(self) -> Source:
        """What `load_classifier` opens."""
        raise NotImplementedError("override the fixture source: what load_classifier shall open")

    @pytest.fixture
    def spec(self) -> ImageSpec:
        """The size of the images that the model takes."""
        raise NotImplementedError("override the fixture spec: the size of the images")

    @pytest.fixture
    def options(self) -> dict[str, object]:
        """What the sidecar does not say."""
        return {}

    @pytest.fixture
    def classifier(self, source: Source, spec: ImageSpec, options: dict[str, object]) -> Iterator[Classifier]:
        """The model, probed."""
        classifier = load_classifier(source, options=options, spec=spec)
        yield classifier
        classifier.close()

    @pytest.fixture
    def images(self, spec: ImageSpec) -> FloatImages:
        """Seeded noise in [0, 1]."""
        return np.random.default_rng(1).random((70, *spec.shape), dtype=np.float32)

    @pytest.mark.parametrize("count", [1, 2, 7, 64, 70])
    def test_any_batch_size_gives_a_row_of_probabilities_an_image(
        self, classifier: Classifier, images: FloatImages, count: int
    ) -> None:
        """(N, K) float32, finite, each row summing to one."""
        answers = classifier.predict(images[:count])
        assert answers.dtype == np.float32
        assert answers.shape == (count, classifier.class_count)
        assert np.isfinite(answers).all()
        assert np.allclose(answers.sum(axis=1), 1, atol=max(0.05, classifier.class_count / 512))

    def test_no_images_give_no_answers(self, classifier: Classifier, images: FloatImages) -> None:
        """An empty batch keeps the number of classes, and asks nobody."""
        before = classifier.queries
        assert classifier.predict(images[:0]).shape == (0, classifier.class_count)
        assert classifier.queries == before

    def test_an_answer_does_not_depend_on_its_batch(self, classifier: Classifier, images: FloatImages) -> None:
        """Together or one by one, up to the runtime's rounding."""
        together = classifier.predict(images[:20])
        alone = np.concatenate([classifier.predict(image[None]) for image in images[:20]])
        assert np.allclose(together, alone, atol=self.tolerance)

    def test_the_same_call_gives_the_same_bytes(self, classifier: Classifier, images: FloatImages) -> None:
        """What a seeded run and a replay rest on."""
        assert np.array_equal(classifier.predict(images), classifier.predict(images))

    def test_queries_are_the_images_answered(self, classifier: Classifier, images: FloatImages) -> None:
        """Counted by image, not by call; padding is not counted."""
        before = classifier.queries
        classifier.predict(images[:7])
        classifier.predict(images[:1])
        assert classifier.queries - before == 8

    def test_the_images_are_left_as_they_were(self, classifier: Classifier, images: FloatImages) -> None:
        """A model must not write into its input."""
        before = images.copy()
        classifier.predict(images)
        assert np.array_equal(images, before)

    def test_loaded_again_it_has_the_same_fingerprint(
        self, classifier: Classifier, source: Source, spec: ImageSpec, options: dict[str, object]
    ) -> None:
        """What caches and suites recognise a model by."""
        again = load_classifier(source, options=options, spec=spec)
        assert again.fingerprint == classifier.fingerprint
        again.close()

    def test_images_of_another_size_are_a_model_error(self, classifier: Classifier, spec: ImageSpec) -> None:
        """Said in one line, by `probe`; a model that takes any size may answer."""
        other = ImageSpec(4 - spec.channels, spec.height + 1, spec.width)
        message = _error_of(classifier, other)
        assert message is None or ("\n" not in message and classifier.name in message)


def _error_of(classifier: Classifier, spec: ImageSpec) -> str | None:
    try:
        classifier.probe(spec)
    except ModelError as error:
        return str(error)
    return None
