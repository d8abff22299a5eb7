"""The first calls of compiled kernels in a process: what they hold, and what they take from disk.

Compiled kernels hold nothing of their arguments once they return, the first time included.

Where numba fails to type something and goes on, what it caught holds the frames of all callers, and
with them the columns, until Python collects garbage: a buffer that moves then is said to be looked
at. So compiled code says nothing that numba tries in vain, such as an array put into a row of one.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.generated_package import build

SCHEMA = """\
component: Bird
fields: {at: "f32[2]", friend: entity, tired: f32}
lookup: hash
space: {field: at}
kernels:
  settle:
    turns: random
    near: 2
    where: count() < 50
    steps:
      - at += nearest(offset) * 0.5
      - friend = nearest(other.entity)
      - friend.Bird.at -= 0.5
      - tired = friend.Bird.tired + f32(random())
  rest:
    steps:
      - at += vec(0.5, tired)
      - friend.Bird.at -= 0.5
      - tired = friend.Bird.tired + f32(random())
  look:
    near: 2
    steps: ["tired = mean(distance)", "friend = nearest(other.entity)"]
"""
CALLS = """\
import gc, sys, warnings
import numpy as np
gc.disable()
from flown import World
w = World()
w.spawn(40, bird={"at": np.random.default_rng(1).random((40, 2))})
warnings.simplefilter("error")
getattr(w.bird, sys.argv[1])()
w.bird.reserve(w.bird.data.allocated + 64)
"""


@pytest.mark.parametrize("kernel", ["settle", "look", "rest"])
def test_views_are_dropped(kernel: str, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    build(tmp_path / "schemas", tmp_path / "flown", backend="numba")
    ran = subprocess.run(
        [sys.executable, "-c", CALLS, kernel],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr


COUNTED = """\
component: Counter
fields: {at: i64, seen: f64}
lookup: hash
kernels:
  fold: {steps: [at = (at + 7) % 5]}
  draw: {steps: [seen = normal()]}
"""
FOLDED = """\
import sys
from flown import World
w = World()
w.spawn(100, counter={"at": 1})
getattr(w.counter, sys.argv[1])()
print(w.counter.at(0), abs(w.counter.data.seen).max())
"""
CONSTANT = (
    "draw",
    "kernels/random_streams.py",
    "LN2: Final = 6.93147180559945309417e-01",
    "LN2: Final = 0.0",
)
REMAINDER = (
    "fold",
    "kernels/compiled_arithmetic.py",
    "def remainder_int64(a: Any, b: Any) -> Any:\n",
    "def remainder_int64(a: Any, b: Any) -> Any:\n    return 100\n",
)


@pytest.mark.parametrize("change", [REMAINDER, CONSTANT], ids=["function", "constant"])
def test_a_kernel_is_compiled_anew_when_what_it_calls_or_sees_changes(
    change: tuple[str, str, str, str], tmp_path: Path
) -> None:
    pytest.importorskip("numba")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.yaml").write_text(COUNTED, encoding="utf-8")
    build(tmp_path / "schemas", tmp_path / "flown", backend="numba", runtime="vendored")
    kernel, module, old, new = change
    before = _folded(tmp_path, kernel)
    library = tmp_path / "flown" / "_runtime" / module
    text = library.read_text(encoding="utf-8")
    assert text.count(old) == 1
    library.write_text(text.replace(old, new), encoding="utf-8")
    assert _folded(tmp_path, kernel) != before


def test_every_constant_that_compiled_functions_see_is_in_their_key() -> None:
    kernel = pytest.importorskip("ecsgen_runtime.base.jit")
    library = Path(kernel.__file__).parents[1]
    modules = set()
    for path in library.rglob("compiled_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and any(name.name.isupper() for name in node.names):
                folder = path.parents[node.level - 1]
                modules.add(folder.joinpath(*str(node.module).split(".")).with_suffix(".py"))
    seen = {name for name in modules if not name.name.startswith("compiled_")}
    assert seen
    assert seen <= {library / name for name in kernel.CONSTANTS_OF}
    assert all((library / name).is_file() for name in kernel.CONSTANTS_OF)


def _folded(folder: Path, kernel: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", FOLDED, kernel]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()
