"""Generators: their networks, the artifact, latent priors, and generators that other tools made."""
