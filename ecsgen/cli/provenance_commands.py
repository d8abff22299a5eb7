"""`ecsgen provenance` and `ecsgen verify`: what a result came from, and whether it is here too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ecsgen.cli.commands import ecsgen, example, write
from ecsgen.cli.programs import built_package, find_world
from ecsgen.config import UsageError, load_options, shown

if TYPE_CHECKING:
    from ecsgen_runtime.base.provenance import Provenance

DIFFERS: Final = 1
"""Exit status: something here is not as it was."""
_PACKAGE: Final = "package "
_SCHEMA: Final = "schema "
_SWEEP: Final = b'{"sweep": '
"""The beginning of lines with provenance in the file of a sweep."""


@ecsgen.command(
    epilog=example(
        "$ ecsgen provenance sir:run -o provenance.json",
        "$ ecsgen verify provenance.json",
        "provenance.json: nothing differs here",
    )
)
@click.argument("target", metavar="[MODULE:ATTR]", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it into this file.")
def provenance(target: str | None, output: Path | None) -> None:
    """Print what results here come from: the package, its schemas, versions and platform.

    With MODULE:ATTR, which is a world or a function that returns one, also its seed, tick and
    digest.
    """
    here: Provenance = (
        _of_package(None) if target is None else find_world(target).world.provenance()
    )
    write(output, json.dumps(here, indent=2) + "\n")


@ecsgen.command(
    epilog=example(
        "$ ecsgen verify records/provenance.jsonl",
        "schema sir.yaml is another one",
        "numpy 2.3.1 then, 2.4.0 now",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("package", required=False, type=click.Path(path_type=Path))
@click.pass_context
def verify(context: click.Context, file: Path, package: Path | None) -> None:
    """Compare what a result came from with what is here; run nothing.

    FILE is what `ecsgen provenance` wrote, the file of a sweep, or provenance.jsonl of a folder of
    records. PACKAGE is the folder of the package here, by default that of the options.

    Ends with 0 if nothing differs, 1 if something does, 2 for what is no such file or package.
    """
    here = _of_package(package)
    changes: dict[str, None] = {}
    unseen: dict[str, None] = {}
    for then in _read(file):
        changed, hidden = _compare(then, here, file)
        changes |= dict.fromkeys(changed)
        unseen |= dict.fromkeys(hidden)
    for change in changes:
        click.echo(change)
    if unseen:
        click.echo(f"not compared, for nothing is imported: {', '.join(unseen)}", err=True)
    if changes:
        context.exit(DIFFERS)
    click.echo(f"{shown(file)}: nothing differs here")


def _of_package(folder: Path | None) -> Provenance:
    """Return the provenance of a package's folder, by default that of the options."""
    from ecsgen_runtime.base.provenance import package_provenance

    folder = load_options(output=folder).output.resolve()
    built_package(folder)
    return package_provenance(folder, folder.name)


def _read(file: Path) -> Iterator[Provenance]:
    """Yield what a file says that it came from. UsageError for other files."""
    try:
        with file.open("rb") as lines:
            first = lines.readline()
            if first.startswith(_SWEEP):  # others begin in the middle, with runs of other models
                heads = [first, *(line for line in lines if line.startswith(_SWEEP))]
                documents = [json.loads(head)["sweep"] for head in heads]
            else:
                documents = [*_documents((first + lines.read()).decode())]
    except OSError as error:
        raise UsageError(f"can't read {shown(file)}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown(file)} has no provenance: {error}") from None
    for document in documents:
        if not _is_provenance(document):
            raise UsageError(
                f"{shown(file)} has no provenance: wanted what `ecsgen provenance` writes,"
                " provenance.jsonl of records, or the file of a sweep"
            )
        yield document


def _documents(text: str) -> Iterator[object]:
    """Yield documents of JSON that follow each other; ValueError where one is damaged."""
    decoder, text = json.JSONDecoder(), text.strip()
    while True:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].strip()
        if not text:
            return


def _is_provenance(document: object) -> bool:
    return isinstance(document, dict) and all(
        isinstance(entries := document.get(part), dict)
        and all(isinstance(entry, str) for entry in entries.values())
        for part in ("code", "versions")
    )


def _compare(then: Provenance, here: Provenance, file: Path) -> tuple[list[str], list[str]]:
    """Return the differences, and the names of code that no file here has: of functions.

    UsageError if it came from another package. Versions of what played no part then, and schemas
    where none are listed, as in sweeps, do not count.
    """
    from ecsgen_runtime.base.provenance import differences

    package = next(iter(here["code"]))
    last = package.removeprefix(_PACKAGE)
    names = {name: package if _is_of(name, last) else name for name in then["code"]}
    packages = [name.removeprefix(_PACKAGE) for name in names if name.startswith(_PACKAGE)]
    if packages and package not in names.values():
        raise UsageError(
            f"{shown(file)} is of the package {', '.join(packages)}, and here is {last}: give its"
            " folder, `ecsgen verify FILE PACKAGE`"
        )
    has_schemas = any(name.startswith(_SCHEMA) for name in names)
    code = {
        name: digest
        for name, digest in here["code"].items()
        if (has_schemas if name.startswith(_SCHEMA) else name in names.values())
    }
    unseen = [n for n, name in names.items() if not (name in code or name.startswith(_SCHEMA))]
    old = {name: then["code"][n] for n, name in names.items() if n not in unseen}
    listed = {name: v for name, v in here["versions"].items() if name in then["versions"]}
    changes = differences(
        {"code": old, "versions": then["versions"]}, {"code": code, "versions": listed}
    )
    return changes, unseen


def _is_of(name: str, package: str) -> bool:
    """Return whether a name of code is that of a package, which may be imported from another."""
    return name.startswith(_PACKAGE) and name.replace(" ", ".").rpartition(".")[2] == package
