"""Which names packages export whatever their schemas say: a table.

    python -m ecsgen.render.reserved

renews `ecsgen/schema/taken.py`, for `ecsgen validate` reads neither the runtime nor templates.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from ecsgen_runtime.package import EXPORTED, SOME_EXPORT

import ecsgen
from ecsgen.render.imports import PACKAGE

TAKEN = Path(ecsgen.__file__).parent / "schema" / "taken.py"
OF_WORLDS = ("EntityManager", "EntityView", "Signature", "World")

_TEXT = '''\
"""What packages export whatever their schemas say.

Made by `python -m ecsgen.render.reserved`; a test says when it has to be made again.
"""

from __future__ import annotations

from typing import Final

EXPORTED: Final = """
{names}
"""
'''


def exported() -> frozenset[str]:
    """Return what packages export whatever their schemas say."""
    chunked = {name for name, module in PACKAGE.items() if module == ".archetypes"}
    tables = (
        *EXPORTED.values(),
        *(SOME_EXPORT[module] for module in (".kernels.chance", ".spaces.spaced")),
    )
    return frozenset((*" ".join(tables).split(), *OF_WORLDS, *chunked))


def table() -> str:
    """Return the module that has them."""
    names = textwrap.fill(" ".join(sorted(exported())), 99, break_on_hyphens=False)
    return _TEXT.format(names=names)


if __name__ == "__main__":
    TAKEN.write_text(table(), encoding="utf-8", newline="\n")
