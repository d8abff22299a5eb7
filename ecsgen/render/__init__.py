"""Renders a checked project: which files the generated package has, and what each is made from."""

from ecsgen.render.output_file import Output
from ecsgen.render.package_files import outputs, texts
from ecsgen.render.text.library_imports import collect_copies

__all__ = ["Output", "collect_copies", "outputs", "texts"]
