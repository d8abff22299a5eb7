"""What brings columns into blocks: a function for each order in which rows come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from textwrap import indent

from ecsgen.model.typed_tree import PARENT, FieldValue
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import ElementOrder, ScratchPool, cell_array
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.kernel_methods.kernel_method import KernelMethod
from ecsgen.render.kernel_methods.row_sources import ChunkSource, NeighbourJoin, RowSource
from ecsgen.render.text.formatting import call, collection, for_macro, method_lines, statement
from ecsgen.render.text.quoting import WIDTH, docstring_text, literal


@dataclass(frozen=True, slots=True)
class BlockIteration:
    """How a method gets its blocks."""

    lookup: list[str]
    """The statements of the method that get them."""
    blocks: str
    """The expression for what the loop is over."""
    names: list[str]
    """The arrays of each."""
    making: str = ""
    """The method that makes those that are kept: of the columns, or of the world."""


def iterate_component(
    method: KernelMethod, body: BlockBody, source: RowSource, has_owners: bool = False
) -> BlockIteration:
    """Blocks of a component's first rows, kept until they move or are others; `has_owners`: with
    the owners of rows as well."""
    owners = ["self._entity_column[:n]"] if has_owners else []
    columns = [*owners, *(body.views.column(field, "n") for field in body.fields)]
    arrays = {"columns": columns, "working": working_cells(body.emit.working)}
    given = ["n", *arrays, f"self._kernels.get({literal(method.name)})", *_shared(method)]
    first = [f"        n = self.{method.rows}"]
    good = f"good until they move or {source.good}"
    making = _making(method, "KernelBlocks", good, [], first, arrays, given)
    lookup = [
        *_lookup(method, "data._kernels", source.rows_expression, "data", []),
        *(_views(method, body) if method.takes_rows else []),
    ]
    blocks = _with_each("_views" if method.takes_rows else "_blocks.views", method, body)
    names = [*(["_owners"] if has_owners else []), *_names(method, body)] or ["_"]
    return BlockIteration(lookup, blocks, names, making)


def iterate_joined(method: KernelMethod, body: BlockBody, source: RowSource) -> BlockIteration:
    """Blocks of rows of several managers, kept until they move or are others."""
    found, variable = source.variable.removeprefix("_"), source.variable
    holders = list(dict.fromkeys(source.managers.data(field.owner) for field in body.fields))
    columns = [_column(body, field, source.rows(field.owner, found)) for field in body.fields]
    arrays = {"columns": columns, "working": working_cells(body.emit.working)}
    given = [found, source.count.removeprefix("_"), *arrays, *_shared(method)]
    arrays["holders"] = holders
    kept = [call("return blocks.keep", [literal(method.name), "holders"], 8)]
    kind = "int" if source.member_indices is None else "QueryMatch"
    parameters, good = [f"{found}: {kind}"], f"good until they move or {source.good}"
    making = _making(method, "JoinedKernelBlocks", good, parameters, [], arrays, given, kept)
    lookup = [
        f"{variable} = {source.rows_expression}",
        *source.each_lines(method.per_row_arguments, sorted(body.written)),
        *_lookup(method, f"{holders[0]}._world_kernels", variable, "self", [variable]),
    ]
    return BlockIteration(lookup, _with_each("_blocks", method, body), _names(method, body), making)


def iterate_chunks(method: KernelMethod, body: BlockBody, source: ChunkSource) -> BlockIteration:
    """Blocks of chunks, which see by themselves whether they are good."""
    name, fields = literal(method.name), []
    for value, field in zip(body.values, body.fields, strict=True):
        planes = [literal(field.type.shape)] if value.layout is ElementOrder.PLANES else []
        fields.append(call("ChunkField", [*map(literal, source.place(field)), *planes], 0))
    arrays = {"fields": fields, "working": working_cells(body.emit.working)}
    given, kept = [source.query, *arrays], [f"        return blocks.keep({name})"]
    making = _making(method, "ChunkBlocks", "these are kept", [], [], arrays, given, kept)
    lookup = [
        *source.each_lines(method.per_row_arguments),
        f"_blocks = self.archetypes._kept.get({name}) or self._{method.name}_blocks()",
    ]
    blocks = _with_each("_blocks.current()", method, body)
    return BlockIteration(lookup, blocks, _names(method, body), making)


def iterate_levels(method: KernelMethod, body: BlockBody) -> BlockIteration:
    """Blocks of the rows of one level after the other from the roots: all fields are gathered."""
    own = [field for field in body.fields if field.owner != PARENT]
    written = [field.name if field.text in body.written else "" for field in own]
    above = []
    for field in body.fields[len(own) :]:
        place = literal(written.index(field.name) if field.name in written else None)
        given = [call("BlockColumn", [body.views.column(field)], 0)]
        given += [_above_roots(method, body, field), place]
        above.append(call("ParentColumn", given, 12).lstrip())
    columns = [_column(body, field) for field in own]
    arrays = {"columns": columns, "above": above, "working": working_cells(body.emit.working)}
    parameters = ["levels: tuple[RowArray, ...]", "version: int"]
    given, good = ["levels", "self._parent_column", "version", *arrays], "good for one version"
    making = _making(method, "LevelBlocks", good, parameters, [], arrays, given)
    rows = "self.levels()"
    if method.rows == "_n_active":
        rows = f"rows_below({rows}, data._n_active)"
    stamp = "data._version"
    lookup = _lookup(method, "data._kernels", stamp, "data", [rows, stamp])
    return BlockIteration(lookup, "_blocks", _names(method, body), making)


def iterate_pairs(method: KernelMethod, body: BlockBody, asked: NeighbourJoin) -> BlockIteration:
    """Blocks of pairs of rows and neighbours, cell by cell, for one call: all is gathered."""
    met = [FieldValue(one.type, one.name, one.owner) for one in body.pairs.neighbour_fields]
    columns, others, is_world = [], [], asked.source.is_world
    for field in body.fields:
        rows = asked.own_rows(field.owner) if is_world else "_rows"
        columns.append(_column(body, field, rows, is_kept=False))
    for field in met:
        handles = asked.handles(field.name, field.owner)
        given = [handles or body.views.column(field, is_kept=False)]
        given += [asked.other_rows(field.owner)] if is_world else []
        others.append(call("BlockColumn", given, 12).lstrip())
    own, paired = body.emit.working, body.pairs.working
    arrays = {"_columns": columns, "_other_members": others}
    arrays |= {"_working": working_cells(own), "_paired": working_cells(paired)}
    made = [collection(f"{name} = ", items, 8) for name, items in arrays.items()]
    made.append(call("_blocks = NeighbourBlocks", ["_search", *arrays], 8))
    lookup = [*_searching(method, body, asked, met), *chain(*map(method_lines, made))]
    names = [
        "_pairs",
        *(value.text for value in body.values),
        *body.pairs.neighbour_fields.values(),
        *(slot.text for slot in (*own.slots, *paired.slots)),
        *(argument.text for argument in method.per_row_arguments),
    ]
    values = ", ".join(
        f"rows_last({argument.per_row_local})" for argument in method.per_row_arguments
    )
    return BlockIteration(
        lookup, f"_blocks.with_row_values({values})" if values else "_blocks", names
    )


def _searching(
    method: KernelMethod, body: BlockBody, asked: NeighbourJoin, met: list[FieldValue]
) -> list[str]:
    """The statements that find out who is in reach of whom; `met`: the fields asked for."""
    if asked.source.is_world:
        made = "search_arguments_with_ghosts" if asked.asks_ghosts else "join_search_arguments"
        return [
            *asked.lines(method.radius_of(asked.near)),
            *asked.source.each_lines(method.per_row_arguments, sorted(body.written)),
            *asked.defined([one.owner for one in body.fields], [one.owner for one in met]),
            *statement(f"_given = {made}", asked.given()),
            "_search = NeighbourSearch(*_given)",
        ]
    name, rows = _named(method)
    given = [
        literal(asked.label),
        method.radius_of(asked.near),
        asked.source.rows_expression,
        "_rows",
    ]
    found = f"_rows = None if {name} is None else {rows}"
    return [found, *statement("_search = self._search", given)]


def _named(method: KernelMethod) -> tuple[str, str]:
    """The variable that is None where a call names no rows, and the expression for these."""
    return (
        ("_chosen", "_chosen.rows")
        if method.per_row_arguments
        else ("rows", f"{method.chosen}.rows")
    )


def _above_roots(method: KernelMethod, body: BlockBody, field: FieldValue) -> str:
    values = dict(method.kernel.program.root_defaults)[field.name]
    if not field.type.shape:
        return literal(values[0])
    array = cell_array(values, field.type)
    return body.constants.named(f"_{field.name.upper()}_ABOVE_ROOTS", array)


# --- what drivers have in common -----------------------------------------------------------------


def _names(method: KernelMethod, body: BlockBody) -> list[str]:
    """The arrays of a block: fields, working memory, and what goes with its rows."""
    fields = [value.text for value in body.values]
    each = [argument.text for argument in method.per_row_arguments]
    return [*fields, *(slot.text for slot in body.emit.working.slots), *each, *body.emit.beside]


def _with_each(blocks: str, method: KernelMethod, body: BlockBody) -> str:
    """Blocks with the values that go with their rows."""
    values = [f"rows_last({argument.per_row_local})" for argument in method.per_row_arguments]
    values += body.emit.beside.values()
    return f"with_row_values({', '.join([blocks, *values])})" if values else blocks


def _views(method: KernelMethod, body: BlockBody) -> list[str]:
    """The statement that says over which blocks a call runs: those of all rows, or of some."""
    written = [place for place, one in enumerate(body.fields) if one.text in body.written]
    name, rows = _named(method)
    given = ["_blocks", rows, literal(tuple(written))]
    return [
        "_views: Iterable[tuple[Any, ...]] = _blocks.views",
        f"if {name} is not None:",
        *(line[8:] for line in call("_views = selected_blocks", given, 12).split("\n")),
    ]


def _lookup(method: KernelMethod, kept: str, stamp: str, maker: str, given: list[str]) -> list[str]:
    made = call(f"_blocks = {maker}._{method.name}_blocks", given, 12)
    return [
        f"_blocks = {kept}.get({literal(method.name)})",
        f"if _blocks is None or _blocks.stamp != {stamp}:",
        *(line[8:] for line in made.split("\n")),
    ]


def _shared(method: KernelMethod) -> list[str]:
    """How many kernels share the blocks, as an argument, if there are several."""
    return [str(len(method.kernels))] if len(method.kernels) > 1 else []


def _column(body: BlockBody, field: FieldValue, rows: str = "None", is_kept: bool = True) -> str:
    """A field of the rows that a kernel runs over; `rows`: where they are in its column."""
    used = field in body.gathered, field.text in body.written
    given = [body.views.column(field, is_kept=is_kept), rows, *map(literal, used)]
    if used == (True, False):  # as it is by itself
        given = given[: 1 if rows == "None" else 2]
    return call("BlockColumn", given, 12).lstrip()


def working_cells(working: ScratchPool) -> list[str]:
    return [
        literal((SCALARS[one.scalar].code, one.shape, one.layout is ElementOrder.TOGETHER))
        for one in working.slots
    ]


def _making(
    method: KernelMethod,
    kind: str,
    good: str,
    parameters: list[str],
    first: list[str],
    arrays: Mapping[str, list[str]],
    given: list[str],
    kept: Sequence[str] = (),
) -> str:
    """The method that makes blocks: of a component's columns, or of the world.

    `good`: how long they are. Its statements are the `first` ones, those that name arrays, the call
    with what is `given`, and those by which the blocks are `kept`: beside the columns by default.
    """
    head = call(f"def _{method.name}_blocks", ["self", *parameters], 4, f" -> {kind}:")
    said = docstring_text(f"Cut the columns of `{method.name}` into blocks; {good}.", WIDTH - 11)
    lines = [head, indent(f'"""{said}"""', " " * 8), *first]
    lines += [collection(f"{name} = ", items, 8) for name, items in arrays.items()]
    lines.append(call(f"blocks = {kind}", given, 8))
    beside = [f"        self._kernels[{literal(method.name)}] = blocks", "        return blocks"]
    return for_macro("\n".join([*lines, *(kept or beside)]))
