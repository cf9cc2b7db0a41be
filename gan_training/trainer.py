"""One GAN in training: an update at a time, and everything that is needed to go on from there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from diffgan.gan_training.data import Batches, TrainingData
from diffgan.gan_training.settings import TrainingSettings
from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import seeded_networks
from diffgan.generators.generator import Generator
from diffgan.generators.priors import UniformPrior
from diffgan.images import ImageSpec
from diffgan.precision import brisk
from diffgan.system import keep_freed_memory


@dataclass(frozen=True)
class Losses:
    """Of one update.

    Attributes:
        discriminator: the hinge loss; 0 when it tells all images apart.
        generator: the negative score of generated images.
        real, fake: mean scores.
    """

    discriminator: float
    generator: float
    real: float
    fake: float


class Trainer:
    """Hinge loss, spectral normalisation, Adam, and a running average of the generator's weights.

    Args:
        architecture: of both networks.
        settings: of the training.
        data: what to train on.
        seed: of the weights, the order of the data, its augmentation and the latents.
        device: where the networks are.
    """

    def __init__(
        self,
        architecture: Architecture,
        settings: TrainingSettings,
        data: TrainingData,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.architecture = architecture
        self.settings = settings
        self.step_number = 0
        keep_freed_memory()
        generator, discriminator = seeded_networks(architecture, seed)
        self.generator, self.discriminator = _placed(generator, device), _placed(discriminator, device)
        self.average = copy.deepcopy(self.generator).eval()
        betas = (settings.beta1, settings.beta2)
        self._optimisers = {
            "generator": torch.optim.Adam(self.generator.parameters(), settings.generator_rate, betas, fused=True),
            "discriminator": torch.optim.Adam(
                self.discriminator.parameters(), settings.discriminator_rate, betas, fused=True
            ),
        }
        self._autocast = torch.autocast(
            device.type, torch.bfloat16, enabled=settings.precision_on(device) == "bfloat16", cache_enabled=False
        )
        self._device = device
        self._draws = torch.Generator().manual_seed(seed)
        self._layers_state = torch.Generator().manual_seed(seed + 1).get_state()
        self._batches = Batches(data, settings.augmentation, size=settings.batch, seed=seed, generator=self._draws)

    def step(self) -> Losses:
        """One update of each network."""
        self._set_rates()
        with self._layers_random():
            discriminator_loss, real, fake = self._update_discriminator()
            generator_loss = self._update_generator()
        self.step_number += 1
        self._update_average()
        return Losses(discriminator_loss, generator_loss, real, fake)

    def sample(self, count: int, seed: int) -> Tensor:
        """Images of the averaged generator, on the CPU; the classes in turn."""
        generator = torch.Generator().manual_seed(seed)
        latents = self._latents(count, generator)
        classes = self.architecture.classes
        labels = None if classes is None else (torch.arange(count) % classes).to(self._device)
        with torch.inference_mode():
            images: Tensor = self.average(latents, labels)
        return images.cpu()

    def as_generator(self) -> Generator:
        """The averaged generator as searches and scores use it; later updates change what it makes."""
        architecture = self.architecture

        def network(latents: Tensor, labels: Tensor | None) -> Tensor:
            there = None if labels is None else labels.to(self._device)
            images: Tensor = self.average(latents.to(self._device), there)
            return images.cpu()

        return Generator(
            name="the generator in training",
            latent=architecture.latent,
            prior=self.settings.prior,
            classes=architecture.classes,
            spec=ImageSpec(*architecture.image),
            fingerprint="",
            data=None,
            network=brisk(network),
        )

    def state(self) -> dict[str, Tensor]:
        """Everything as named tensors: what `restore` needs to go on to the same weights."""
        tensors = {
            "step": torch.tensor(self.step_number),
            "draws": self._draws.get_state(),
            "layers": self._layers_state,
        }
        for name, network in self._networks().items():
            tensors |= {f"{name}/{key}": value.detach().cpu() for key, value in network.state_dict().items()}
        for name, optimiser in self._optimisers.items():
            for number, entry in optimiser.state_dict()["state"].items():
                tensors |= {f"{name}.adam/{number}/{key}": value.detach().cpu() for key, value in entry.items()}
        return {name: tensor.clone().contiguous() for name, tensor in tensors.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Goes back to where `state` was taken.

        Raises:
            KeyError, RuntimeError, IndexError: the tensors are of another training.
        """
        for name, network in self._networks().items():
            network.load_state_dict(_below(tensors, f"{name}/"))
        for name, optimiser in self._optimisers.items():
            parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
            entries: dict[int, dict[str, Tensor]] = {}
            for key, value in _below(tensors, f"{name}.adam/").items():
                number, _, field = key.partition("/")
                entries.setdefault(int(number), {})[field] = _laid_out_as(parameters[int(number)], value)
            optimiser.load_state_dict({"state": entries, "param_groups": optimiser.state_dict()["param_groups"]})
        self.step_number = int(tensors["step"])
        self._draws.set_state(tensors["draws"])
        self._layers_state = tensors["layers"].clone()

    def _networks(self) -> dict[str, nn.Module]:
        return {"generator": self.generator, "discriminator": self.discriminator, "average": self.average}

    def _update_discriminator(self) -> tuple[float, float, float]:
        images, labels = self._batches.batch(self.step_number)
        images, real_labels = images.to(self._device), labels.to(self._device)
        with torch.no_grad():
            made, made_labels = self._generated(len(images))
        conditional = self.architecture.classes is not None
        both_labels = torch.cat([real_labels, made_labels]) if conditional and made_labels is not None else None
        scores = self._scores(torch.cat([images, made]), both_labels)
        real, fake = scores.chunk(2)
        loss = functional.relu(1 - real).mean() + functional.relu(1 + fake).mean()
        self._descend("discriminator", loss)
        return loss.item(), real.mean().item(), fake.mean().item()

    def _update_generator(self) -> float:
        made, labels = self._generated(self.settings.batch)
        # Its own gradients are of no use here, and a third of the work.
        self.discriminator.requires_grad_(False)
        loss = -self._scores(made, labels).mean()
        self._descend("generator", loss)
        self.discriminator.requires_grad_(True)
        return float(loss.item())

    def _scores(self, images: Tensor, labels: Tensor | None) -> Tensor:
        with self._autocast:
            scores: Tensor = self.discriminator(images, labels)
        return scores.float()

    def _descend(self, name: str, loss: Tensor) -> None:
        optimiser = self._optimisers[name]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def _generated(self, count: int) -> tuple[Tensor, Tensor | None]:
        latents = self._latents(count, self._draws)
        classes = self.architecture.classes
        labels = None
        if classes is not None:
            labels = torch.randint(classes, (count,), generator=self._draws).to(self._device)
        with self._autocast:
            images: Tensor = self.generator(latents, labels)
        return images.float(), labels

    def _latents(self, count: int, generator: torch.Generator) -> Tensor:
        prior, shape = self.settings.prior, (count, self.architecture.latent)
        if isinstance(prior, UniformPrior):
            drawn = torch.empty(shape).uniform_(prior.low, prior.high, generator=generator)
        else:
            drawn = torch.empty(shape).normal_(generator=generator)
        return drawn.to(self._device)

    def _set_rates(self) -> None:
        """Constant for the first half, then falling to zero."""
        factor = min(1.0, 2 * (1 - self.step_number / self.settings.steps))
        rates = {"generator": self.settings.generator_rate, "discriminator": self.settings.discriminator_rate}
        for name, optimiser in self._optimisers.items():
            for group in optimiser.param_groups:
                group["lr"] = rates[name] * max(factor, 0.0)

    def _update_average(self) -> None:
        # Short at first, so that the random start is soon forgotten.
        weight = 1 - min(self.settings.average, self.step_number / (self.step_number + 10))
        ours, theirs = self.average.state_dict(), self.generator.state_dict()
        floats = [name for name, tensor in ours.items() if tensor.is_floating_point()]
        with torch.no_grad():
            torch._foreach_lerp_([ours[name] for name in floats], [theirs[name] for name in floats], weight)

    @contextmanager
    def _layers_random(self) -> Iterator[None]:
        """Dropout knows only torch's global random state: ours is put in for the update, and the caller's put back."""
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._layers_state)
            yield
            self._layers_state = torch.get_rng_state()


def _placed(network: nn.Module, device: torch.device) -> nn.Module:
    """On its device, with the memory format in which convolutions are fastest."""
    placed: nn.Module = network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return placed


def _laid_out_as(parameter: Tensor, value: Tensor) -> Tensor:
    """A moment in its parameter's order in memory, which the fused optimiser takes both to be in."""
    if value.shape != parameter.shape:
        return value.clone()
    return torch.empty_like(parameter, requires_grad=False).copy_(value)


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
