"""The selector: which of two models to trust on an image."""
