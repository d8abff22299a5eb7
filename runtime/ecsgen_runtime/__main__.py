"""Says what is installed: `python -m ecsgen_runtime`."""

from __future__ import annotations

import ecsgen_runtime
from ecsgen_runtime.per_class import methods_in_c


def main() -> None:
    print(f"ecsgen-runtime {ecsgen_runtime.__version__}")
    interfaces = ", ".join(map(str, ecsgen_runtime.INTERFACES))
    print(f"interfaces of generated packages: {interfaces}")
    install, reason = methods_in_c()
    print(f"methods in C: {'yes' if install else f'no ({reason})'}")


if __name__ == "__main__":
    main()
