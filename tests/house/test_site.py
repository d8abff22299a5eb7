"""The site of the docs has every page once, and no link that leads out of it."""

from __future__ import annotations

import inspect
import pydoc
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ecsgen.schema import names
from tests.support.generated_package import build

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE: dict[str, Any] = runpy.run_path(str(DOCS / "conf.py"))


def test_the_tree_has_every_page_once_under_its_section() -> None:
    tree = SITE["contents"]((DOCS / "index.md").read_text(encoding="utf-8"))
    pages = re.findall(r"^[\w-]+$", tree, re.MULTILINE)
    assert sorted(pages) == sorted({page.stem for page in DOCS.glob("*.md")} - {"index"})
    assert re.findall(r":caption: (.*)", tree)[:3] == [
        "You build models",
        "You write games",
        "You have columns",
    ]


def test_what_the_site_does_not_have_is_named() -> None:
    page = "[Changes](../CHANGELOG.md), [all](../examples/), [one](../examples/flock.py)"
    assert SITE["without_outside_links"](page) == (
        "Changes (`CHANGELOG.md` in the repository), all (`examples/` in the repository), "
        "[one](../examples/flock.py)"
    )


def test_films_are_played_where_they_were_made(tmp_path: Path) -> None:
    (tmp_path / "ants.html").write_text("a film", encoding="utf-8")
    page = "<!-- film: ants -->\n\n<!-- film: bees -->"
    shown, absent = SITE["with_films"](page, tmp_path).split("\n\n")
    assert 'src="films/ants.html"' in shown
    assert absent == ""


def test_the_gallery_has_every_model_and_its_film() -> None:
    gallery = (DOCS / "gallery.md").read_text(encoding="utf-8")
    models = {
        path.name for path in (DOCS.parent / "examples" / "models").iterdir() if path.is_dir()
    }
    watched = {path.stem for path in (DOCS.parent / "examples").glob("watch_*.py")}
    films = set(re.findall(r"<!-- film: (\w+) -->", gallery))
    assert films == {name for name in models | watched if name[0] != "_"}
    assert ".gif)" in (DOCS / "index.md").read_text(encoding="utf-8")  # a picture that moves


def test_every_public_name_has_an_entry_and_a_docstring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = runpy.run_path(str(DOCS / "api_reference.py"))
    build(DOCS / "reference", tmp_path / "town")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "town"]:
        monkeypatch.delitem(sys.modules, name)  # another test's
    town = import_module("town")
    pages = reference["entries"](town).values()
    listed = {path: members for page in pages for path, members in page.items()}
    shown = {path.removeprefix("town.") for path in listed if path.startswith("town.")}
    assert shown == {*town.__all__} - {"World", "Settings"}  # aliases
    members = {member for of in listed.values() for member in of}
    for wanted, elsewhere in (
        (names.FIELD_NAMES["managers have"], "ghosts nearby parents parent_many seed"),
        (names.FIELD_NAMES["`data` has"], "present row"),
        (names.WORLD_NAMES["worlds have"], "archetypes entities seed settings"),
    ):
        assert wanted - members <= {*elsewhere.split()}
    bare = [f"{path}.{it}" for path, of in listed.items() for it in of if not is_told(path, it)]
    assert bare == []


def is_told(path: str, member: str) -> bool:
    """Return whether a member has a docstring, or is a value, which its class tells of."""
    value = inspect.getattr_static(pydoc.locate(path), member)
    is_call = isinstance(value, (property, classmethod, staticmethod)) or inspect.isroutine(value)
    return bool(inspect.getdoc(value)) or not is_call or inspect.ismemberdescriptor(value)
