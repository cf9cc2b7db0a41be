"""What people and judges say that triggers show: files in and out, what most say, and how far they agree."""

from diffgan.labels.agreement import Agreement, agreement
from diffgan.labels.conflicts import Conflict, conflicts, write_conflicts
from diffgan.labels.consensus import Consensus, Role, consensus, is_machine, role_of
from diffgan.labels.files import Form, Imported, export_labels, form_of, import_labels
from diffgan.labels.label_studio_export import Tasks, Written, write_tasks

__all__ = [
    "Agreement",
    "Conflict",
    "Consensus",
    "Form",
    "Imported",
    "Role",
    "Tasks",
    "Written",
    "agreement",
    "conflicts",
    "consensus",
    "export_labels",
    "form_of",
    "import_labels",
    "is_machine",
    "role_of",
    "write_conflicts",
    "write_tasks",
]
