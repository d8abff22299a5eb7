"""What generated packages use of the library has a number, and a package asks for its own."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import ecsgen_runtime
import pytest
from ecsgen_runtime import package

from tests import interface
from tests.support.generated_package import build

ROOT = Path(__file__).parents[2]
SCHEMA = "component: Mote\nfields: {weight: f32}\n"
CHANGED = """\
What generated packages use of the library is not what it was. If packages that were made before
still run with it, or with two ways of it, `INTERFACES` in runtime/ecsgen_runtime/__init__.py gets a
number more; if they don't, it is replaced by the next one. Then: python -m tests.interface
"""


def test_another_surface_has_another_number() -> None:
    assert interface.listing() == interface.LISTED.read_text(encoding="utf-8"), CHANGED


def test_type_checkers_see_what_there_is() -> None:
    text = (ROOT / "generated" / "__init__.py").read_text(encoding="utf-8")
    seen = re.findall(r"^    from ecsgen_runtime(\.\S+) import (\w+) as \2$", text, re.MULTILINE)
    exported = package.EXPORTED.items()
    assert {(module, name) for module, names in exported for name in names.split()} <= {*seen}


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [
        (0, '"ecsgen-runtime==0.0.1"'),
        (1000, '"ecsgen-runtime>=0.0.1"'),
    ],
)
def test_a_package_of_another_interface_says_what_to_do(
    wanted: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    name = f"other_{wanted}"
    build(tmp_path / "schemas", tmp_path / name)
    file = tmp_path / name / "__init__.py"
    text = file.read_text(encoding="utf-8")
    text = text.replace('__ecsgen__ = "', '__ecsgen__ = "0.0.1"  # "')
    file.write_text(text.replace("interface=", f"interface={wanted} + 0 * "), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError) as raised:
        importlib.import_module(name)
    says = str(raised.value)
    assert f"{name} was made by ecsgen 0.0.1 for interface {wanted} of ecsgen-runtime" in says
    assert f"{ecsgen_runtime.__version__} is installed, which serves" in says
    assert "run `ecsgen build`" in says
    assert f"pip install {remedy}" in says
    assert (raised.value.name, name in sys.modules) == (name, False)
