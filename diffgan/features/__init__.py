"""Feature extractors, and the judge: an ensemble that says valid, and which label."""
