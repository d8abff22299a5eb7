"""Hooks of these tests."""

from ecsgen_testing import pytest_pycollect_makemodule, pytest_terminal_summary

__all__ = ["pytest_pycollect_makemodule", "pytest_terminal_summary"]
