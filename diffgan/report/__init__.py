"""The report of a run: one HTML file that needs nothing else."""

from diffgan.report.writing import write_report

__all__ = ["write_report"]
