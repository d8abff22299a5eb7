"""The extension of ecsgen-fast: C without anything but Python's own headers."""

import os
from pathlib import Path

from setuptools import Extension, setup

OPTIONS = ["-std=c11", "-O3", "-fvisibility=hidden", "-Wall", "-Wextra"]
SOURCES = sorted(Path("ecsgen_fast").glob("*.c"))

setup(
    ext_modules=[
        Extension(
            "ecsgen_fast._fast",
            [str(path) for path in SOURCES],
            depends=[str(path) for path in Path("ecsgen_fast").glob("*.h")],
            extra_compile_args=[] if os.name == "nt" else OPTIONS,
        )
    ]
)
