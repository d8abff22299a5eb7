"""Print what is installed: `python -m ecsgen_runtime`."""

from __future__ import annotations

import ecsgen_runtime
from ecsgen_runtime.base.specialisation import find_accelerator


def main() -> None:
    print(f"ecsgen-runtime {ecsgen_runtime.__version__}")
    interfaces = ", ".join(map(str, ecsgen_runtime.INTERFACES))
    print(f"interfaces of generated packages: {interfaces}")
    install, reason = find_accelerator()
    print(f"methods in C: {'yes' if install else f'no ({reason})'}")


if __name__ == "__main__":
    main()
