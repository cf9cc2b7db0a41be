"""The browser that the labelling page is tried in, too."""

from tests.labelling.conftest import browser

__all__ = ["browser"]
