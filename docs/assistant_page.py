"""Writes llms.txt from the pages: language and calls in short, for assistants that write schemas.

python docs/assistant_page.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
INTRODUCTION: Final = """\
# ecsgen

> ecsgen generates typed Python (numpy, or numba) from YAML schemas of components, kernels and a
> world. You write schemas and a program; never edit the generated package.

Commands: `ecsgen init` begins a project, `ecsgen validate` checks schemas, `ecsgen build` writes
the package `generated`, `ecsgen explain E104` explains an error, `ecsgen check-run MODULE:FUNCTION`
finds NaN, wrapped integers and dead references in a run. Run `ecsgen build` after each change of a
schema.

A YAML file has documents separated by `---`; each is a `component:`, an `enum:` or the one
`world:`. In braces, types with shapes need quotes: `{at: "f64[2]"}`. A kernel over one component
stands in it and names its own fields (`energy`); a kernel of the world says `over:` and names
component and field (`Sheep.energy`). Steps are a language of their own, not Python: no imports, no
methods, no lists.

In the program `world.spawn(9, sheep={"energy": 5})` makes entities, `world.sheep` is a manager of
rows, `world.sheep.data.energy` a numpy view of its rows in use, which may be assigned, and
`world.sheep.graze()` a kernel. `world.seed = 1` decides all chance.
"""
EXAMPLE: Final = "kernels.md", "A model"
KEYS: Final = (
    *("`component:`", "A field", "`space`", "`grid`", "`on`", "`network`", "A kernel"),
    *("An argument of a kernel", "A reduction", "`enum:`", "`world:`", "A setting", "A query"),
    *("A kernel of the world", "`near` of a kernel", "An entry of a schedule"),
    "A column of a table",
)
"""Sections of the schema language: lists of keys, of which the first sentence is enough."""
UNTOLD: Final = (
    *("`doc`", "`unit`", "`renamed_from`", "`removed`", "`version`", "`shards`", "`parallel`"),
    *("`release`", "`cold`", "`growth`", "`split`", "`tags`"),
)
"""Keys that are left out: whoever needs one looks into the page."""
TABLES: Final = (
    ("schema.md", "Field types"),
    ("kernels-reference.md", "Statements"),
    ("kernels-reference.md", "Operators and functions"),
    ("kernels-reference.md", "Random numbers"),
    ("kernels-other-rows.md", "Messages"),
    ("kernels-other-rows.md", "Neighbours"),
    ("kernels-other-rows.md", "Choice"),
    ("kernels-other-rows.md", "Spawns and despawns"),
    ("kernels.md", "Mistakes that everyone makes once"),
    ("api.md", "Rows, one at a time"),
    ("api.md", "The world"),
)
"""Sections with tables that are taken as they are."""
MORE: Final = (
    *("how-do-i-say.md", "gallery.md", "schema.md", "schema-world.md"),
    *("kernels-reference.md", "kernels-other-rows.md"),
    *("api.md", "diagnostics.md", "command-line.md"),
)
"""Pages that have the rest."""


def section(pages: str, title: str) -> str:
    """Return the text below a heading of one of some pages, up to the next one."""
    texts = [(FOLDER / page).read_text(encoding="utf-8") for page in pages.split()]
    lines = "".join(texts).splitlines()
    (start,) = (n for n, line in enumerate(lines) if line.lstrip("# ") == title and line[0] == "#")
    is_inside, text = False, []
    for line in lines[start + 1 :]:
        is_inside ^= line.startswith("```")
        if line.startswith("#") and not is_inside:
            break
        text.append(line)
    return "\n".join(text)


def rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables in a text, without empty heads, and what lists of
    code say, as two cells."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("| ---"):
            cells = re.split(r"(?<!\\)\|", line)
            if cells[1].strip() not in ("", "key", "call"):
                yield [cell.strip().replace(r"\|", "|") for cell in cells[1:-1]]
    for item in re.findall(r"^- (`.*?)(?=^- |^$|\Z)", text, re.MULTILINE | re.DOTALL):
        if parts := re.fullmatch(r"((?:`[^`]+`,? ?)+)(?:: (.*)|\.)", " ".join(item.split())):
            yield [parts[1], (parts[2] or "").rstrip(".")]


def key_lines(title: str, seen: set[str]) -> Iterator[str]:
    """Yield a line for each key, with the first sentence of its meaning, unless it is in `seen`."""
    listed = r"^- (`\w+`) \(([^)]*)\): (.*)$"
    text = section("schema.md schema-world.md", title)
    for key, takes, meaning in re.findall(listed, text, re.MULTILINE):
        first = re.split(r"(?<=[.;]) (?=[A-Z`])", meaning)[0].rstrip(".;")
        line = f"- {key} ({takes.replace('; required', '')}): {first}"
        if key not in UNTOLD and line not in seen:
            seen.add(line)
            yield line


def page() -> str:
    """Return the text of llms.txt."""
    example, seen = section(*EXAMPLE), set[str]()
    parts = [
        INTRODUCTION,
        "## A model",
        *re.findall(r"^```(?:yaml|python)\n.*?^```$", example, re.DOTALL | re.MULTILINE),
    ]
    for title in KEYS:
        parts += [
            f"## Keys: {title.replace('`', '').rstrip(':')}",
            "\n".join(key_lines(title, seen)),
        ]
    for file, title in TABLES:
        cells = rows(section(file, title))
        listed = (f"- {first}: {'; '.join(filter(None, others))}" for first, *others in cells)
        parts += [f"## {title}", "\n".join(listed)]
    heads = {file: (FOLDER / file).read_text("utf-8").partition("\n")[0][2:] for file in MORE}
    parts += ["## More", "\n".join(f"- [{head}]({file})" for file, head in heads.items())]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main(folder: Path) -> None:
    """Write the page into `folder`."""
    (folder / "llms.txt").write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
