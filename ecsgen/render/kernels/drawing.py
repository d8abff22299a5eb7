"""Which kernels draw random numbers, as managers and worlds know them: by name and hash."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import Component, Kernel
from ecsgen.render.quoting import literal

_BASIS = 0xCBF2_9CE4_8422_2325
_PRIME = 0x0000_0100_0000_01B3


def name_hash(name: str) -> int:
    """The 64-bit FNV-1a of a kernel's name, in the world `shake`, elsewhere `Body.shake`."""
    found = _BASIS
    for byte in name.encode():
        found = (found ^ byte) * _PRIME % 2**64
    return found


def drawing_lines(kernels: Sequence[Kernel], owner: str) -> str:
    """The statement with all kernels that draw; nothing without such."""
    names = [kernel.name for kernel in kernels if kernel.program.who]
    prefix = f"{owner}." if owner else ""
    entries = [f"{literal(name)}: 0x{name_hash(prefix + name):016X}" for name in names]
    if not entries:
        return ""
    listed = "".join(f"    {entry},\n" for entry in entries)
    return f"_DRAWING: ClassVar = {{\n{listed}}}"


class Drawing:
    """What the template of the policy lays out."""

    def __init__(self, component: Component) -> None:
        self.lines = drawing_lines(component.kernels, component.name)
