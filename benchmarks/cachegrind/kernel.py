"""Runs the kernel of a generated package for count.py: kernel.py FOLDER PACKAGE ROWS STEPS

Prints the ns per row and step, after one step to warm up. Imports nothing but the package, since
cachegrind makes everything some fifty times slower.
"""

from __future__ import annotations

import importlib
import sys
import time


def main() -> None:
    folder, name, rows, steps = sys.argv[1:]
    sys.path.insert(0, folder)
    package = importlib.import_module(name)
    entities = package.EntityManager()
    masses = package.PointMassManager(entities)
    masses.create_many(entities.create_many(int(rows)), velocity=1.0, acceleration=1.0)
    masses.simulate(1 / 1024)
    began = time.process_time()
    for _ in range(int(steps)):
        masses.simulate(1 / 1024)
    print(1e9 * (time.process_time() - began) / (int(rows) * int(steps)))


if __name__ == "__main__":
    main()
