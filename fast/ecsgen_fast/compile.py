"""Compiles the C files beside it, in place. It is run as a script, and needs a C compiler:

python generated/_fast/compile.py
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path


def command(folder: Path) -> list[str]:
    """Return what makes the extension of the C files in a folder."""
    linker = sysconfig.get_config_var("LDSHARED")
    if linker is None:
        sys.exit("this Python does not say how it is compiled: pip install ecsgen-fast")
    target = folder / f"_fast{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = sorted(str(source) for source in folder.glob("*.c"))
    include = sysconfig.get_path("include")
    options = ["-std=c11", "-O3", "-fvisibility=hidden", "-fPIC", f"-I{include}"]
    return [*shlex.split(linker), *options, *sources, "-o", str(target)]


def main() -> None:
    made = subprocess.run(command(Path(__file__).resolve().parent), check=False)
    sys.exit(made.returncode)


if __name__ == "__main__":
    main()
