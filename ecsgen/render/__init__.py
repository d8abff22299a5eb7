"""Renders a checked project: which files the generated package has, and what each is made from."""

from ecsgen.render.output_file import Output
from ecsgen.render.package_files import copies, outputs, texts

__all__ = ["Output", "copies", "outputs", "texts"]
