"""Hooks of these tests."""

from ._support.needed import pytest_pycollect_makemodule

__all__ = ["pytest_pycollect_makemodule"]
