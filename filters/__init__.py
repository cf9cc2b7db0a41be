"""Filters that judge, after the search, whether a trigger is a valid image."""
