"""Strategies compared under one protocol: a study's cells are run one by one, judged, and laid side by side."""
