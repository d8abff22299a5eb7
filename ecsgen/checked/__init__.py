"""Checked runs and times of generated worlds."""

from ecsgen.checked.check import Check, checked
from ecsgen.checked.findings import CheckError, Finding
from ecsgen.checked.times import Time, Times, timed

__all__ = ["Check", "CheckError", "Finding", "Time", "Times", "checked", "timed"]
