"""What people and judges say that triggers show: files in and out, what most say, and machine labels."""

from diffgan.labels.consensus import Consensus, consensus, is_machine
from diffgan.labels.files import Imported, export_labels, import_labels

__all__ = ["Consensus", "Imported", "consensus", "export_labels", "import_labels", "is_machine"]
