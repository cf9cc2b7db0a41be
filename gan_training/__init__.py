"""Augmentation of the test data, GAN training, its scores and its tuning."""
