"""Models and games that the pages for those who come from elsewhere tell anew.

    python benchmarks/moved.py [--sizes N ...] [--steps N] [--rounds N] [--backends NAME ...]

What is run is the code of the pages docs/from-*.md; NetLogo and Agents.jl are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _arguments import BACKENDS, parsed
from _missing_contenders import library_or_none
from _package import ROOT, packages
from _timing import Case, stepping, table

from ecsgen.config import Backend

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def texts(page: str) -> dict[str, str]:
    """Return the blocks of each language as one; the other program is the one called `text`."""
    by_language: dict[str, str] = {}
    for language, text in BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        by_language[language] = by_language.get(language, "") + text
    return by_language


def defined(text: str, package: Any = None) -> dict[str, Any]:
    """Run a page's program, with its import of the package replaced; return its names."""
    names: dict[str, Any] = {"World": package.World} if package else {}
    exec(re.sub(r"^from generated .*$", "", text, flags=re.MULTILINE), names)
    return names


def cases(folder: Path, sizes: list[int], steps: int, backends: list[Backend]) -> Iterator[Case]:
    """Yield a case for each program and size."""
    for name in ("mesa", "esper", "numpy", "netlogo", "agents-jl"):
        page = texts(f"from-{name}.md")
        schema = folder / f"{name}.yaml"
        schema.write_text(page["yaml"], encoding="utf-8")
        built = packages(folder, backends, schema)
        programs = {b: defined(page["python"], package) for b, package in built.items()}
        makers = {f"ecsgen, {b}": program["begin"] for b, program in programs.items()}
        if name == "numpy":
            makers["by hand"] = next(iter(programs.values()))["begin_by_hand"]
        elif name in ("mesa", "esper") and library_or_none(name) is not None:
            makers[name] = defined(page["text"])["begin"]
        for size in sizes:
            runs = {who: stepping(partial(make, size), steps) for who, make in makers.items()}
            yield Case(f"{name}'s program, {size}, a step", steps, runs)


def main() -> None:
    options = parsed(__doc__, sizes=(1000, 100_000), steps=10, rounds=3, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        every = cases(Path(folder), options.sizes, options.steps, options.backends)
        table(every, options.rounds, ["ecsgen, numba", "ecsgen, numpy"])


if __name__ == "__main__":
    main()
