"""The site of these pages, for Sphinx: `make site`.

The pages are Markdown that a code host shows as it is. What the site needs besides, the tree of
its pages and links that do not lead out of it, is made here while Sphinx reads them.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import ecsgen

project = "ecsgen"
release = ecsgen.__version__
html_title = "ecsgen"
html_theme = "furo"
html_show_copyright = False
html_show_sourcelink = False
html_extra_path = ["llms.txt"]
html_static_path = ["site.css"]
html_css_files = ["site.css"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
add_module_names = False
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
nitpick_ignore_regex = [("py:.*", ".*")]
"""Types in signatures are not links."""
myst_heading_anchors = 4
"""Anchors of headings down to this level are those that a code host gives them."""

sys.path.insert(0, str(Path(__file__).parents[1] / "build"))
"""Where the package is whose calls the reference lists."""

_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w-]+)\.md\)")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_REFERENCE = "\n\n```{toctree}\n:hidden:\n:caption: Every call and code\n:glob:\n\nreference/*\n```"
_FILM = re.compile(r"<!-- film: (\w+) -->")
_FILMS = Path(__file__).parents[1] / "build" / "films"
_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([\w./-]*)\)")


def contents(index: str) -> str:
    """Return trees of the pages that the sections of the index link to, each page once."""
    _, *sections = _SECTION.split(index)
    trees, seen = list[str](), set[str]()
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        pages = [page for page in _PAGE.findall(text) if page not in seen]
        seen.update(pages)
        if pages:
            lines = ["```{toctree}", ":hidden:", f":caption: {title}", "", *dict.fromkeys(pages)]
            trees.append("\n".join([*lines, "```"]))
    return "\n\n".join(trees)


def without_outside_links(text: str, root: Path = Path(__file__).parents[1]) -> str:
    """Return a page with links to pages and folders of the repository as their names alone."""

    def named(link: re.Match[str]) -> str:
        is_kept = (root / link[2]).is_file() and not link[2].endswith(".md")
        return link[0] if is_kept else f"{link[1]} (`{link[2]}` in the repository)"

    return _OUTSIDE.sub(named, text)


def with_films(text: str, folder: Path = _FILMS) -> str:
    """Return a page with the films that `make films` made, each played where a comment names it."""

    def played(comment: re.Match[str]) -> str:
        name = comment[1]
        if not (folder / f"{name}.html").is_file():
            return ""
        frame = 'loading="lazy" style="width: 100%; height: 34rem; border: 1px solid #8884"'
        return f'<iframe src="films/{name}.html" title="{name}" {frame}></iframe>'

    return _FILM.sub(played, text)


def _copy_films(app: Any, exception: Exception | None) -> None:
    if exception is None and _FILMS.is_dir():
        shutil.copytree(_FILMS, Path(app.outdir) / "films", dirs_exist_ok=True)


def _read(app: Any, name: str, source: list[str]) -> None:
    if name.startswith("reference/"):
        return
    trees = contents(source[0]) + _REFERENCE if name == app.config.root_doc else ""
    source[0] = f"{with_films(without_outside_links(source[0]))}\n\n{trees}\n"


def _mark_code(app: Any, what: str, name: str, of: object, options: Any, lines: list[str]) -> None:
    """Write the Markdown of a docstring as what Sphinx reads."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # else napoleon takes the words before a colon for a type
    lines[:] = [_CODE.sub(r"``\1``", line.replace("*", r"\*")) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx read the pages as the site needs them."""
    app.connect("source-read", _read)
    app.connect("build-finished", _copy_films)
    app.connect("autodoc-process-docstring", _mark_code, priority=0)
    return {"parallel_read_safe": True}
