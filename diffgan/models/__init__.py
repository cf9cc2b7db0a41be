"""Black-box classifiers: images in, probabilities out, whatever the format behind."""

from diffgan.models.classifier import Classifier
from diffgan.models.loading import load_classifier
from diffgan.models.options import ModelOptions
from diffgan.models.protocol import Adapter, Runtime

__all__ = ["Adapter", "Classifier", "ModelOptions", "Runtime", "load_classifier"]
