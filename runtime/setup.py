"""Methods in C, if there is a compiler: without any headers but Python's."""

import os
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("ecsgen_runtime", "accelerator")
# Python's own options ask for debugging information, which takes a third of the time.
OPTIONS = ["-std=c11", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra"]

setup(
    ext_modules=[
        Extension(
            "ecsgen_runtime.accelerator._fast",
            sorted(str(path) for path in FOLDER.glob("*.c")),
            depends=sorted(str(path) for path in FOLDER.glob("*.h")),
            extra_compile_args=[] if os.name == "nt" else OPTIONS,
            optional=True,
        )
    ]
)
