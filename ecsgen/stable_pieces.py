"""The shapes of pieces that are known to be in black's style already.

`stable_pieces.txt` has their digests for one version of black and one line length; with these a
build of usual schemas needs no black at all. Under any other version or length the list says
nothing, and black looks at one piece of each shape.

    python -m ecsgen.stable_pieces

writes it anew, from a checkout: after a change of templates, the runtime or black.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ecsgen import fingerprint

if TYPE_CHECKING:
    from ecsgen.render.output import Output

FILE = fingerprint.PACKAGE / "stable_pieces.txt"
SCHEMAS = fingerprint.PACKAGE.parent / "schemas"
LINE_LENGTH = 88  # of packages whose owners set none


def known(line_length: int) -> frozenset[str]:
    """The digests of stable shapes under the black that is installed; none if it is another."""
    try:
        head, *digests = FILE.read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ValueError):
        return frozenset()
    return frozenset(digests if head == _head(line_length) else ())


def _head(line_length: int) -> str:
    return f"black {fingerprint.black_version()}, line length {line_length}"


def find(schemas: Path) -> set[str]:
    """The digests of all shapes in the package of these schemas that black leaves alone.

    black's word on a shape holds for as long as black is the same, so it is asked about new ones.
    """
    from ecsgen.format import black_of
    from ecsgen.pieces import cut
    from ecsgen.shapes import digest

    format = black_of(LINE_LENGTH)
    modules = (output.make() for output in outputs(schemas) if output.path.endswith(".py"))
    texts = {piece.alone for module in modules for piece in cut(module)}
    shapes = {digest(text, LINE_LENGTH): text for text in texts}
    old = known(LINE_LENGTH)
    return {name for name, text in shapes.items() if name in old or format(text) == text}


def outputs(schemas: Path) -> Sequence[Output]:
    """The outputs for a folder of schemas; none if one of them is refused."""
    from ecsgen import render
    from ecsgen.config import load_options
    from ecsgen.diagnostics import Diagnostics
    from ecsgen.schema import load

    project = load(schemas, Diagnostics())
    return () if project is None else render.outputs(project, load_options(schemas=schemas))


# What a component can ask for beside its lookup, multiplicity and way of destroying.
_EXTRAS = (
    "",
    "release: true",
    "ids: true",
    "partition: active",
    "partition: inactive",
    "hierarchy: {orphans: root}",
    "hierarchy: {orphans: destroy}",
    "cold: indirect",
    "growth: {reserve: 1000}",
    "capacity: 100",
)
_TYPES = ("f32", "f64", "i32", "u8", "bool", "f32[3]", "str[16]", "entity", "bytes[4]", "object")
_LOOKUPS = ("lookup: sparse", "lookup: hash", "lookup: direct", "owner: none")


def sample_schemas() -> Iterator[str]:
    """Schemas that between them use every policy with every other kind; some may be refused."""
    destroys = ("gc", "callback", "manual")
    policies = product(_LOOKUPS, ("one", "many"), destroys, _EXTRAS)
    for number, (lookup, instances, destroy, extra) in enumerate(policies):
        head = [f"component: Sample{number}", "doc: A sample.", lookup, extra]
        if lookup != "owner: none":
            head += [f"destroy: {destroy}", f"instances: {instances}"]
        kinds = [_TYPES[(number + i) % len(_TYPES)] for i in range(number % 9)]
        fields = [f'  field_{i}: {{type: "{kind}", unit: m}}' for i, kind in enumerate(kinds)]
        fields.append("  rare: {type: f32, tags: [cold]}")
        fields.append('  apart: {type: "f32[2]", split: true, doc: Two columns.}')
        yield "\n".join([*filter(None, head), "fields:", *fields]) + "\n"


def find_all() -> set[str]:
    """The digests for the shipped schemas and for a sample of each combination of policies."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "samples.yaml")
        accepted = []
        for text in sample_schemas():
            file.write_text(text, encoding="utf-8")
            if outputs(Path(folder)):
                accepted.append(text)
        file.write_text("---\n".join(accepted), encoding="utf-8")
        if not outputs(SCHEMAS):
            raise SystemExit(f"{SCHEMAS} can't be built; `ecsgen validate` says why")
        return find(Path(folder)) | find(SCHEMAS)


if __name__ == "__main__":
    lines = [_head(LINE_LENGTH), *sorted(find_all())]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
