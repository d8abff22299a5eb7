"""The site of the docs has every page once, and no link that leads out of it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

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
