"""Lays out calls as black does, so that black finds nothing to change."""

from __future__ import annotations

from ecsgen.render.quoting import WIDTH


def call(head: str, arguments: list[str], indent: int, end: str = "", taken: int = 0) -> str:
    """Return `head(arguments)end` as black lays a call out: on one line, or hanging, or exploded.

    `indent` is the column of the first line; `taken` characters stand before it already (then the
    text does not begin with the indent).
    """
    pad = " " * indent
    lead = "" if taken else pad
    inner = ", ".join(arguments)
    line = f"{head}({inner}){end}"
    if indent + taken + len(line) <= WIDTH or not arguments:
        return lead + line
    if indent + 4 + len(inner) <= WIDTH:
        return f"{lead}{head}(\n{pad}    {inner}\n{pad}){end}"
    body = "".join(f"{pad}    {argument},\n" for argument in arguments)
    return f"{lead}{head}(\n{body}{pad}){end}"
