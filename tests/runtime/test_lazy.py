"""A package's names: loaded when they are used, and there for whoever asks."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import generated
from tests.support.generated_package import build

NAMES: list[str] = vars(generated)["__all__"]
ROOT = Path(__file__).resolve().parents[2]


def loaded(code: str) -> set[str]:
    """Return the modules of the package that code loads in a new process."""
    tell = "import sys; print(*[m for m in sys.modules if m.split('.')[0] == 'generated'])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return set(done.stdout.split())


def test_only_what_is_used_is_loaded() -> None:
    nothing = {"generated"}
    assert loaded("import generated") == nothing
    assert loaded("import generated; dir(generated), hasattr(generated, 'Nope')") == nothing
    particle = loaded("from generated import Particle")
    assert "generated.particle" in particle
    assert not particle & {"generated.world", "generated.point_mass"}


def test_every_name_is_there() -> None:
    names: dict[str, Any] = {}
    exec("from generated import *", names)
    assert names.keys() - {"__builtins__"} == set(NAMES)
    for name in NAMES:
        assert names[name] is getattr(generated, name)
        assert vars(generated)[name] is names[name]
    members = dict(inspect.getmembers(generated))
    assert members.keys() >= {*NAMES, "particle", "world", "enums", "__doc__"}
    assert dir(generated) == sorted(members)


def test_modules_are_attributes_too() -> None:
    code = "import generated; assert generated.particle.Particle is generated.Particle"
    assert "generated.particle" in loaded(code)
    code = "from generated import world, EntityManager; world.Game()"
    assert "generated.point_mass" in loaded(code)


def test_without_numba_a_compiled_package_says_what_to_install(tmp_path: Path) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "flag.yaml").write_text("component: Flag\n", encoding="utf-8")
    build(schemas, tmp_path / "flags", backend="numba")
    for code in ("import flags", "from flags import World", "import flags.flag"):
        hide = "import sys; sys.modules['numba'] = None"
        done = subprocess.run(
            [sys.executable, "-c", f"{hide}; {code}"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stderr.splitlines()[-1] == (
            "ImportError: flags is made for numba, which is not installed: "
            'pip install "ecsgen-runtime[numba]" (or build it with `--backend numpy`)'
        )
    subprocess.run([sys.executable, "-c", "import flags"], cwd=tmp_path, check=True)


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="module 'generated' has no attribute 'Nope'") as info:
        generated.Nope  # type: ignore[attr-defined]  # noqa: B018
    assert (info.value.name, info.value.obj) == ("Nope", generated)
    with pytest.raises(ImportError, match="cannot import name 'Nope' from 'generated'"):
        exec("from generated import Nope")
