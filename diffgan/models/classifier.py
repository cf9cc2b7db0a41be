"""A model under test: everything that its wrapper owns, around a runtime that only answers."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DiffganError, ModelError
from diffgan.images import FloatImages, ImageSpec
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.outputs import FINISHERS, OutputError
from diffgan.models.preparing import check_input_shape, check_normalisation, declared_spec, prepare
from diffgan.models.probe import probe_images
from diffgan.models.protocol import Runtime

#: More images than this are answered in several calls, so that a large batch does not exhaust the memory.
LARGEST_CALL = 1024


class Classifier:
    """A black box: `predict` takes images and gives probabilities; `queries` counts the images it answered.

    Args:
        runtime: the opened model.
        options: what it takes and what its answers mean.
        name: how messages and reports call it.
        source: where it came from, as given.
        fingerprint: of the file; None: `probe` makes one of the answers to a fixed probe.
    """

    def __init__(
        self, runtime: Runtime, options: ModelOptions, *, name: str, source: str, fingerprint: str | None = None
    ) -> None:
        self.name = name
        self.source = source
        self.options = options
        self.queries = 0
        self.output_shape: tuple[int, ...] | None = None
        self._runtime = runtime
        self._file_fingerprint = fingerprint
        self._probe_fingerprint: str | None = None
        self._calls = 0

    @property
    def remote(self) -> bool:
        """Whether it answers elsewhere: calls may cost money, and take their time."""
        return "://" in self.source

    @property
    def layout(self) -> Layout:
        """Where the model wants the channels."""
        return self.options.layout or self._runtime.layout

    @property
    def declared_spec(self) -> ImageSpec | None:
        """The image size that the model's file declares, if it does."""
        return declared_spec(self._runtime.input_shape, self.layout)

    @property
    def class_count(self) -> int:
        """The number of classes; known once the model was probed."""
        if self.output_shape is None:
            raise ModelError(f"{self.name} was not probed yet: call probe(spec) with the size of the images.")
        return self.output_shape[-1]

    @property
    def fingerprint(self) -> str:
        """Tells this model, under these options, from any other."""
        known = self._file_fingerprint or self._probe_fingerprint
        if known is None:
            raise ModelError(f"{self.name} has no file to fingerprint and was not probed yet: call probe(spec).")
        return known

    def predict(self, images: FloatImages, *, timeout: float | None = None) -> NDArray[np.float32]:
        """Probabilities (N, K) for images (N x C x H x W, [0, 1]), any N.

        Args:
            images: float32, as `diffgan.images` has them.
            timeout: seconds left for the answer; only remote models heed it.

        Raises:
            ModelError: the model failed, or answered with a wrong shape or NaN; names the model and the batch.
        """
        return self._answer(images, features=False, timeout=timeout)[0]

    def predict_with_features(self, images: FloatImages) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Probabilities and the features that the option `features_name` chose.

        Raises:
            ModelError: as in `predict`, or the model offers no features.
        """
        if self.options.features_name is None:
            raise ModelError(f"{self.name} has no features: name its second output with the option features_name.")
        probabilities, features = self._answer(images, features=True, timeout=None)
        if features is None:
            raise ModelError(f"{self.name} gave no features for features_name {self.options.features_name!r}.")
        return probabilities, features

    def probe(self, spec: ImageSpec) -> None:
        """Shows the model three fixed images of this size, and learns or checks its output shape.

        Raises:
            ModelError: the model cannot take such images, or its answers do not fit the options.
        """
        check_normalisation(self.name, self.options, spec)
        check_input_shape(self.name, self._runtime.input_shape, self.layout, spec)
        images = probe_images(spec)
        try:
            answers = self.predict(images)
        except ModelError as error:
            self._explain_fixed_batch(images, error)
            if isinstance(error.__cause__, OutputError):
                raise  # it could take the images
            raise ModelError(f"{error} It was shown images of {spec}: are they of the size it was made for?") from error
        if self._file_fingerprint is None:
            from diffgan.models.fingerprint import of_answers

            self._probe_fingerprint = of_answers(answers)

    def close(self) -> None:
        """Frees what the model holds."""
        self._runtime.close()

    def _explain_fixed_batch(self, images: FloatImages, error: ModelError) -> None:
        """A model traced for one image fails on three: say so, instead of what its runtime says."""
        if self._runtime.batch is not None or self.remote:
            return  # an endpoint that is down would be waited for twice
        try:
            self.predict(images[:1])
        except ModelError:
            return
        raise ModelError(f"{self.name} takes one image at a time only: say batch=1. ({error})") from error

    def _answer(
        self, images: FloatImages, *, features: bool, timeout: float | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        if not isinstance(images, np.ndarray) or images.ndim != 4 or images.dtype != np.float32:
            given = (
                f"{images.dtype} of shape {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
            )
            raise ModelError(
                f"{self.name} was given images as {given}; "
                "expected float32, N×C×H×W in [0, 1]: see diffgan.images.to_floats."
            )
        if len(images) == 0:
            return self._no_answers(), None
        end = None if timeout is None else monotonic() + timeout
        answers = [
            self._call(part, features, None if end is None else end - monotonic()) for part in self._parts(images)
        ]
        self.queries += len(images)
        probabilities = answers[0][0] if len(answers) == 1 else np.concatenate([answer for answer, _ in answers])
        if not features or answers[0][1] is None:
            return probabilities, None
        return probabilities, np.concatenate([feature for _, feature in answers if feature is not None])

    def _parts(self, images: FloatImages) -> Iterator[FloatImages]:
        size = self._runtime.batch or LARGEST_CALL
        if len(images) <= size:
            yield images
            return
        for start in range(0, len(images), size):
            yield images[start : start + size]

    def _call(
        self, images: FloatImages, features: bool, timeout: float | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """One call of the runtime, padded where it takes a fixed number of images."""
        count = len(images)
        self._calls += 1
        inputs = prepare(images, self.options, self.layout)
        if self._runtime.batch is not None and count < self._runtime.batch:
            padding = np.repeat(inputs[-1:], self._runtime.batch - count, axis=0)
            inputs = np.concatenate([inputs, padding])
        try:
            raw, extra = self._runtime.run(inputs, features=features, timeout=timeout)
            answers = FINISHERS[self.options.task](_first(raw, count, len(inputs)), count, self.options)
            self._check_shape(answers)
        except DiffganError:
            raise
        except OutputError as error:
            raise ModelError(f"{self.name}, batch {self._calls} ({count} images): {error}.") from error
        except (Exception, SystemExit) as error:
            raise ModelError(f"{self.name} failed on batch {self._calls} ({count} images): {_brief(error)}") from error
        return answers, None if extra is None else self._features(_first(extra, count, len(inputs)), count)

    def _check_shape(self, answers: NDArray[np.float32]) -> None:
        if self.output_shape is None:
            self.output_shape = answers.shape[1:]
        elif answers.shape[1:] != self.output_shape:
            raise OutputError(f"its answers have shape {answers.shape[1:]}, but had {self.output_shape} before")

    def _features(self, extra: NDArray[Any], count: int) -> NDArray[np.float32]:
        flat = np.ascontiguousarray(extra.reshape(len(extra), -1), dtype=np.float32)
        if len(flat) != count or not np.isfinite(flat).all():
            raise ModelError(
                f"{self.name}, batch {self._calls}: the features {self.options.features_name!r} have shape "
                f"{extra.shape} or values that are not finite; expected ({count}, features)."
            )
        return flat

    def _no_answers(self) -> NDArray[np.float32]:
        return np.empty((0, *(self.output_shape or (0,))), dtype=np.float32)


def _first(array: NDArray[Any], count: int, given: int) -> NDArray[Any]:
    """Drops the answers to padding; leaves an answer of the wrong length as it is, to be reported."""
    return array[:count] if array.ndim and len(array) == given else array


def _brief(error: BaseException) -> str:
    """The most telling line of another library's error: the last one of a traceback that it carries, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    telling = lines[-1] if lines[0].startswith(("The following operation failed", "Traceback")) else lines[0]
    return telling if len(telling) <= 300 else telling[:297] + "..."
