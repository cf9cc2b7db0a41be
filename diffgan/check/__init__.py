"""The regression gate: what `diffgan check` and the pytest plugin do. This module is light; see `gate`."""
