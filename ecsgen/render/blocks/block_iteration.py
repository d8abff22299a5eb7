"""Code that brings columns into blocks: a function for each order of rows."""

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
    """Code by which a method gets its blocks."""

    lookup: list[str]
    """Statements of the method that get the blocks."""
    blocks: str
    """Expression for the iterable of blocks."""
    names: list[str]
    """Variables of the loop: the arrays of a block."""
    making: str = ""
    """Method of the columns, or of the world, that makes the blocks if they are kept."""


def iterate_component(
    method: KernelMethod, body: BlockBody, source: RowSource, has_owners: bool = False
) -> BlockIteration:
    """Iterate over blocks of a component's first rows, kept until columns or the count change.

    `has_owners`: with the owners of rows as well."""
    owners = ["self._entity_column[:n]"] if has_owners else []
    columns = [*owners, *(body.views.column(field, "n") for field in body.fields)]
    arrays = {"columns": columns, "working": working_cells(body.emit.working)}
    arguments = ["n", *arrays, f"self._kernels.get({literal(method.name)})", *_share_count(method)]
    first = [f"        n = self.{method.rows}"]
    good = f"good until they move or {source.good}"
    making = _maker(method, "KernelBlocks", good, [], first, arrays, arguments)
    lookup = [
        *_lookup_lines(method, "data._kernels", source.rows_expression, "data", []),
        *(_view_lines(method, body) if method.takes_rows else []),
    ]
    blocks = _with_row_values("_views" if method.takes_rows else "_blocks.views", method, body)
    names = [*(["_owners"] if has_owners else []), *_names(method, body)] or ["_"]
    return BlockIteration(lookup, blocks, names, making)


def iterate_joined(method: KernelMethod, body: BlockBody, source: RowSource) -> BlockIteration:
    """Iterate over blocks of rows of several managers, kept until columns or rows change."""
    rows, variable = source.variable.removeprefix("_"), source.variable
    holders = list(dict.fromkeys(source.managers.data(field.owner) for field in body.fields))
    columns = [_column(body, field, source.rows(field.owner, rows)) for field in body.fields]
    arrays = {"columns": columns, "working": working_cells(body.emit.working)}
    arguments = [rows, source.count.removeprefix("_"), *arrays, *_share_count(method)]
    arrays["holders"] = holders
    last = [call("return blocks.keep", [literal(method.name), "holders"], 8)]
    kind = "int" if source.member_indices is None else "QueryMatch"
    parameters, good = [f"{rows}: {kind}"], f"good until they move or {source.good}"
    making = _maker(method, "JoinedKernelBlocks", good, parameters, [], arrays, arguments, last)
    lookup = [
        f"{variable} = {source.rows_expression}",
        *_row_value_lines(method, body, source),
        *_lookup_lines(method, f"{holders[0]}._world_kernels", variable, "self", [variable]),
        *(_view_lines(method, body) if method.takes_rows else []),
    ]
    blocks = _with_row_values("_views" if method.takes_rows else "_blocks", method, body)
    return BlockIteration(lookup, blocks, _names(method, body), making)


def _row_value_lines(method: KernelMethod, body: BlockBody, source: RowSource) -> list[str]:
    """Return the statements that check arguments with a value for each row of the world."""
    if method.takes_rows:
        return method.row_selection_lines if method.per_row_arguments else []
    return source.each_lines(method.per_row_arguments, sorted(body.written))


def iterate_chunks(method: KernelMethod, body: BlockBody, source: ChunkSource) -> BlockIteration:
    """Iterate over blocks of chunks, which check by themselves that they are current."""
    name, fields = literal(method.name), []
    for value, field in zip(body.values, body.fields, strict=True):
        shape = [literal(field.type.shape)] if value.layout is ElementOrder.PLANES else []
        fields.append(call("ChunkField", [*map(literal, source.place(field)), *shape], 0))
    arrays = {"fields": fields, "working": working_cells(body.emit.working)}
    arguments, last = [source.query, *arrays], [f"        return blocks.keep({name})"]
    making = _maker(method, "ChunkBlocks", "these are kept", [], [], arrays, arguments, last)
    lookup = [
        *source.each_lines(method.per_row_arguments),
        f"_blocks = self.archetypes.kernel_blocks.get({name}) or self._{method.name}_blocks()",
    ]
    blocks = _with_row_values("_blocks.current()", method, body)
    return BlockIteration(lookup, blocks, _names(method, body), making)


def iterate_levels(method: KernelMethod, body: BlockBody) -> BlockIteration:
    """Iterate over blocks of one level after the other from the roots: all fields are gathered."""
    own_fields = [field for field in body.fields if field.owner != PARENT]
    written = [field.name if field.text in body.written else "" for field in own_fields]
    above = []
    for field in body.fields[len(own_fields) :]:
        index = literal(written.index(field.name) if field.name in written else None)
        arguments = [call("BlockColumn", [body.views.column(field)], 0)]
        arguments += [_root_value(method, body, field), index]
        above.append(call("ParentColumn", arguments, 12).lstrip())
    columns = [_column(body, field) for field in own_fields]
    arrays = {"columns": columns, "above": above, "working": working_cells(body.emit.working)}
    parameters = ["levels: tuple[RowArray, ...]", "version: int"]
    arguments, good = ["levels", "self._parent_column", "version", *arrays], "good for one version"
    making = _maker(method, "LevelBlocks", good, parameters, [], arrays, arguments)
    rows = "self.levels()"
    if method.rows == "_n_active":
        rows = f"rows_below({rows}, data._n_active)"
    stamp = "data._version"
    lookup = _lookup_lines(method, "data._kernels", stamp, "data", [rows, stamp])
    return BlockIteration(lookup, "_blocks", _names(method, body), making)


def iterate_pairs(method: KernelMethod, body: BlockBody, asked: NeighbourJoin) -> BlockIteration:
    """Iterate over pairs of rows and neighbours, cell by cell, for one call: all is gathered."""
    fields_met = [FieldValue(f.type, f.name, f.owner) for f in body.pairs.neighbour_fields]
    columns, other_columns, is_world = [], [], asked.source.is_world
    for field in body.fields:
        rows = asked.own_rows(field.owner) if is_world and not method.takes_rows else "_rows"
        if asked.near.via is not None:
            rows = f"member_row_array({asked.source.rows(field.owner)})"
            rows = "_rows" if method.takes_rows else rows
        columns.append(_column(body, field, rows, is_kept=False))
    for met, field in zip(body.pairs.neighbour_fields, fields_met, strict=True):
        handles = asked.handles(field.name, field.owner)
        arguments = [handles or body.views.column(field, is_kept=False)]
        if met.is_link:
            arguments.append("_search.links")
        elif asked.near.via is not None:
            arguments.append(f"_search.rows_in({_members(asked, field.owner)})")
        elif is_world:
            arguments.append(asked.other_rows(field.owner))
        other_columns.append(call("BlockColumn", arguments, 12).lstrip())
    row_scratch, pair_scratch = body.emit.working, body.pairs.working
    arrays = {"_columns": columns, "_other_members": other_columns}
    arrays |= {"_working": working_cells(row_scratch), "_paired": working_cells(pair_scratch)}
    statements = [collection(f"{name} = ", items, 8) for name, items in arrays.items()]
    statements.append(call("_blocks = NeighbourBlocks", ["_search", *arrays], 8))
    search = _search_lines(method, body, asked, fields_met)
    lookup = [*search, *chain(*map(method_lines, statements))]
    names = [
        "_pairs",
        *(value.text for value in body.values),
        *body.pairs.neighbour_fields.values(),
        *(slot.text for slot in (*row_scratch.slots, *pair_scratch.slots)),
        *(argument.text for argument in method.per_row_arguments),
    ]
    values = ", ".join(f"rows_last({each.per_row_local})" for each in method.per_row_arguments)
    blocks = f"_blocks.with_row_values({values})" if values else "_blocks"
    return BlockIteration(lookup, blocks, names)


def _members(asked: NeighbourJoin, owner: str) -> str:
    """Return the expression for the rows of candidates in a component, a slice or an array."""
    return asked.candidates.rows(owner, list(asked.sides)[-1])


def _search_lines(
    method: KernelMethod, body: BlockBody, asked: NeighbourJoin, met: list[FieldValue]
) -> list[str]:
    if asked.near.via is not None:
        lines, passed = asked.network_lines(), ["_network"]
        if method.takes_rows:
            name, named = chosen_rows(method)
            lines.append(f"_rows = None if {name} is None else {named}")
            passed.append("_rows")
        lines += _row_value_lines(method, body, asked.source)
        return [*lines, *statement("_search = LinkedPairs", passed)]
    if asked.source.is_world:
        function = "search_arguments_with_ghosts" if asked.asks_ghosts else "join_search_arguments"
        lines, arguments = [], asked.given()
        if method.takes_rows:
            name, rows = chosen_rows(method)
            lines.append(f"_named = None if {name} is None else {rows}")
            lines.append(
                f"_rows = {asked.own_rows(method.kernel.over)} if _named is None else _named"
            )
            arguments.append("named=_named")
        return [
            *asked.lines(method.radius_of(asked.near)),
            *_row_value_lines(method, body, asked.source),
            *asked.defined([field.owner for field in body.fields], [field.owner for field in met]),
            *lines,
            *statement(f"_search_arguments = {function}", arguments),
            "_search = NeighbourSearch(*_search_arguments)",
        ]
    name, rows = chosen_rows(method)
    arguments = [
        literal(asked.label),
        method.radius_of(asked.near),
        asked.source.rows_expression,
        "_rows",
    ]
    choice = f"_rows = None if {name} is None else {rows}"
    return [choice, *statement("_search = self._search", arguments)]


def chosen_rows(method: KernelMethod) -> tuple[str, str]:
    """Return the variable that is None where a call names no rows, and the rows' expression."""
    if method.per_row_arguments:
        return "_chosen", "_chosen.rows"
    return "rows", f"{method.chosen}.rows"


def _root_value(method: KernelMethod, body: BlockBody, field: FieldValue) -> str:
    values = dict(method.kernel.program.root_defaults)[field.name]
    if not field.type.shape:
        return literal(values[0])
    array = cell_array(values, field.type)
    return body.constants.named(f"_{field.name.upper()}_ABOVE_ROOTS", array)


def _names(method: KernelMethod, body: BlockBody) -> list[str]:
    """Return the arrays of a block: fields, working memory, values per row."""
    fields = [value.text for value in body.values]
    each = [argument.text for argument in method.per_row_arguments]
    return [*fields, *(slot.text for slot in body.emit.working.slots), *each, *body.emit.beside]


def _with_row_values(blocks: str, method: KernelMethod, body: BlockBody) -> str:
    values = [f"rows_last({argument.per_row_local})" for argument in method.per_row_arguments]
    values += body.emit.beside.values()
    return f"with_row_values({', '.join([blocks, *values])})" if values else blocks


def _view_lines(method: KernelMethod, body: BlockBody) -> list[str]:
    """Return the statement that selects blocks: those of all rows, or of chosen rows."""
    written = [index for index, field in enumerate(body.fields) if field.text in body.written]
    name, rows = chosen_rows(method)
    arguments = ["_blocks", rows, literal(tuple(written))]
    return [
        f"_views: Iterable[tuple[Any, ...]] = _blocks{'' if method.kernel.over else '.views'}",
        f"if {name} is not None:",
        *(line[8:] for line in call("_views = selected_blocks", arguments, 12).split("\n")),
    ]


def _lookup_lines(
    method: KernelMethod, cache: str, stamp: str, maker: str, parameters: list[str]
) -> list[str]:
    making = call(f"_blocks = {maker}._{method.name}_blocks", parameters, 12)
    return [
        f"_blocks = {cache}.get({literal(method.name)})",
        f"if _blocks is None or _blocks.stamp != {stamp}:",
        *(line[8:] for line in making.split("\n")),
    ]


def _share_count(method: KernelMethod) -> list[str]:
    """Return how many kernels share the blocks, as an argument, if there are several."""
    return [str(len(method.kernels))] if len(method.kernels) > 1 else []


def _column(body: BlockBody, field: FieldValue, rows: str = "None", is_kept: bool = True) -> str:
    """Return a field of the rows that a kernel runs over; `rows`: their indices in the column."""
    used = field in body.gathered, field.text in body.written
    arguments = [body.views.column(field, is_kept=is_kept), rows, *map(literal, used)]
    if used == (True, False):  # the default
        arguments = arguments[: 1 if rows == "None" else 2]
    return call("BlockColumn", arguments, 12).lstrip()


def working_cells(working: ScratchPool) -> list[str]:
    return [
        literal((SCALARS[slot.scalar].code, slot.shape, slot.layout is ElementOrder.TOGETHER))
        for slot in working.slots
    ]


def _maker(
    method: KernelMethod,
    kind: str,
    good: str,
    parameters: list[str],
    first: list[str],
    arrays: Mapping[str, list[str]],
    arguments: list[str],
    last: Sequence[str] = (),
) -> str:
    """Return the method that makes blocks: of a component's columns, or of the world.

    `good`: how long they are valid. Its statements: `first`, those that name `arrays`, the call
    with `arguments`, and `last`, which keeps the blocks, by default beside the columns.
    """
    head = call(f"def _{method.name}_blocks", ["self", *parameters], 4, f" -> {kind}:")
    docstring = docstring_text(
        f"Cut the columns of `{method.name}` into blocks; {good}.", WIDTH - 11
    )
    lines = [head, indent(f'"""{docstring}"""', " " * 8), *first]
    lines += [collection(f"{name} = ", items, 8) for name, items in arrays.items()]
    lines.append(call(f"blocks = {kind}", arguments, 8))
    beside = [f"        self._kernels[{literal(method.name)}] = blocks", "        return blocks"]
    return for_macro("\n".join([*lines, *(last or beside)]))
