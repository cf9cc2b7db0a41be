"""Stands in for what a project has already: labelled data, two models, a judge and a generator, all of them tiny.

Images are 8×8, and show which quadrant is the brightest; both models are a little blind, each on a side of its own.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn


class Quadrants(nn.Module):
    """Says which quadrant is the brightest, weighing them."""

    weights: Tensor

    def __init__(self, weights: list[float], sharpness: float = 10.0) -> None:
        super().__init__()
        self.register_buffer("weights", torch.tensor(weights))
        self.pool = nn.AvgPool2d(4)
        self.sharpness = sharpness

    def forward(self, images: Tensor) -> Tensor:
        """Probabilities of the four quadrants."""
        return torch.softmax(self.sharpness * self.pool(images).flatten(1) * self.weights, dim=1)


class Painter(nn.Module):
    """Paints a quadrant bright, and some noise everywhere."""

    mixing: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mixing", torch.randn(6, 64, generator=torch.Generator().manual_seed(0)))

    def forward(self, latents: Tensor, labels: Tensor) -> Tensor:
        """Images in [0, 1]."""
        bright = torch.nn.functional.one_hot(labels, 4).float().reshape(-1, 1, 2, 2)
        large = bright.repeat_interleave(4, dim=2).repeat_interleave(4, dim=3)
        noise = torch.sigmoid(latents @ self.mixing).reshape(-1, 1, 8, 8)
        return 0.15 * large + 0.85 * noise


def main() -> None:
    """Writes `models/` and `data/` beside this file."""
    here = Path(__file__).parent
    for folder in ("models", "data"):
        (here / folder).mkdir(exist_ok=True)
    save(Quadrants([0.9, 1.0, 1.0, 1.0]), here / "models" / "old.pt")
    save(Quadrants([1.0, 1.0, 1.0, 0.95]), here / "models" / "new.pt")
    save(Quadrants([1.0, 1.0, 1.0, 0.5]), here / "models" / "broken.pt")
    save(Quadrants([1.0, 1.0, 1.0, 1.0], sharpness=30.0), here / "models" / "judge.pt")
    save(Painter(), here / "models" / "generator.pt")
    (here / "models" / "generator.pt.yaml").write_text(
        "latent: 6\nprior: {name: uniform, low: -1, high: 1}\nclasses: 4\nimage: [1, 8, 8]\n", encoding="utf-8"
    )
    rng = np.random.default_rng(0)
    with torch.no_grad():
        latents = torch.from_numpy(rng.uniform(-1, 1, (400, 6)).astype(np.float32))
        painted = Painter()(latents, torch.arange(400) % 4)
        labels = Quadrants([1.0, 1.0, 1.0, 1.0])(painted).argmax(dim=1).numpy()
        images = painted.numpy()
    pixels = np.rint(255 * images).astype(np.uint8).transpose(0, 2, 3, 1)
    np.savez(here / "data" / "test.npz", images=pixels, labels=labels)


def save(model: nn.Module, path: Path) -> None:
    """As TorchScript."""
    torch.jit.script(model.eval()).save(str(path))  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
