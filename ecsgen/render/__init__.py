"""Renders a checked project: which files the generated package has, and what each is made from."""

from ecsgen.render.output import Output
from ecsgen.render.package_files import outputs, texts
from ecsgen.render.runtime import copies

__all__ = ["Output", "copies", "outputs", "texts"]
