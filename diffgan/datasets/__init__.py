"""Labelled images, by name or by path."""

from diffgan.datasets.dataset import Dataset
from diffgan.datasets.loading import DATASET_NAMES, load_dataset

__all__ = ["DATASET_NAMES", "Dataset", "load_dataset"]
