"""The search: how far two models differ, how new an image is, and what decides which images come next."""
