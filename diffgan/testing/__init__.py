"""Conformance tests for what other people plug in: subclass one in your own test suite.

Needs pytest, and nothing else that diffgan does not have already.
"""

from diffgan.testing.models import ClassifierConformance

__all__ = ["ClassifierConformance"]
