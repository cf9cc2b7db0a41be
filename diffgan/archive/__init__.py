"""The triggers of a run, in one SQLite file that can be read while the search writes.

`diffgan.archive.export` writes them as npz, as a folder of images, or as parquet.
"""

from diffgan.archive.labels import LabelColumns, Labels
from diffgan.archive.records import NO_INDEX, NO_PARENT, StoredTriggers, TriggerBatch
from diffgan.archive.store import Archive
from diffgan.archive.verdicts import VerdictColumns, Verdicts

__all__ = [
    "NO_INDEX",
    "NO_PARENT",
    "Archive",
    "LabelColumns",
    "Labels",
    "StoredTriggers",
    "TriggerBatch",
    "VerdictColumns",
    "Verdicts",
]
