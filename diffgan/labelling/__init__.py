"""The labelling page: one trigger after another in a browser, and what people say of them in the archive at once."""
