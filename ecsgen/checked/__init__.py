"""Checked runs, traces and times of generated worlds."""

from ecsgen.checked.check import Check, checked
from ecsgen.checked.findings import CheckError, Finding

__all__ = ["Check", "CheckError", "Finding", "checked"]
