"""What brings columns into blocks: a function for each order in which rows come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecsgen.model.programs import ENTITY, PARENT, FieldValue
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import Layout, Value
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.calls import call, collection, for_macro
from ecsgen.render.kernels.methods import Method
from ecsgen.render.kernels.sources import Asked, ChunkSource, Source
from ecsgen.render.quoting import WIDTH, docstring_text, literal


@dataclass(frozen=True, slots=True)
class Driver:
    """How a method gets its blocks."""

    lookup: list[str]
    """The statements of the method that get them."""
    blocks: str
    """The expression for what the loop is over."""
    names: list[str]
    """The arrays of each."""
    making: str
    """The method that makes them: of the columns, or of the world."""
    constants: tuple[str, ...] = ()
    """Lines of the module."""


def cut(
    method: Method, body: BlockBody, source: Source, kernels: int = 1, has_owners: bool = False
) -> Driver:
    """Blocks of a component's first rows, kept until they move or are others; `has_owners`: with
    the owners of rows as well."""
    name, owners = literal(method.name), ["self._entity_column[:n]"] if has_owners else []
    columns = [*owners, *(body.views.column(field, "n") for field in body.fields)]
    given = ["n", "columns", "working", f"self._kernels.get({name})", *_shared(kernels)]
    lines = [
        f"    n = self.{method.rows}",
        _tuple("columns", columns),
        _cells("working", body.slots),
        *_kept(method, "Blocks", given),
    ]
    lookup = [
        f"_blocks = data._kernels.get({name})",
        f"if _blocks is None or _blocks.stamp != {source.found}:",
        f"    _blocks = data._{method.name}_blocks()",
        *(_views(method, body) if method.takes_rows else []),
    ]
    blocks = _with_each("_views" if method.takes_rows else "_blocks.views", method, body)
    names = [*(["_owners"] if has_owners else []), *_names(method, body)] or ["_"]
    said = f"good until they move or {source.good}"
    return Driver(lookup, blocks, names, _making(method, [], "Blocks", said, lines))


def joined(method: Method, body: BlockBody, source: Source, kernels: int = 1) -> Driver:
    """Blocks of rows of several managers, kept until they move or are others."""
    found, name = source.variable.removeprefix("_"), literal(method.name)
    owners = dict.fromkeys(field.owner for field in body.read)
    holders = [source.holders[owner] for owner in owners]
    columns = [_column(body, field, source.rows(field.owner, found)) for field in body.fields]
    count = source.count.removeprefix("_")
    given = [found, count, "columns", "working", *_shared(kernels)]
    lines = [
        _tuple("columns", columns),
        _cells("working", body.slots),
        for_macro(collection("holders = ", holders, 8)),
        _made("JoinedBlocks", given),
        for_macro(call("return blocks.keep", [name, "holders"], 8)),
    ]
    lookup = [
        f"{source.variable} = {source.found}",
        *source.each_lines(method.each, sorted(body.written)),
        f"_blocks = {holders[0]}._joined.get({name})",
        f"if _blocks is None or _blocks.stamp != {source.variable}:",
        f"    _blocks = self._{method.name}_blocks({source.variable})",
    ]
    parameters, said = [f"{found}: {source.annotation}"], f"good until they move or {source.good}"
    making = _making(method, parameters, "JoinedBlocks", said, lines)
    return Driver(lookup, _with_each("_blocks", method, body), _names(method, body), making)


def chunks(method: Method, body: BlockBody, source: ChunkSource) -> Driver:
    """Blocks of chunks, which see by themselves whether they are good."""
    name, fields = literal(method.name), []
    for field in body.fields:
        is_split = body.views.value(field).layout is Layout.PLANES
        planes = [literal(field.type.shape)] if is_split else []
        fields.append(call("ChunkField", [*map(literal, source.place(field)), *planes], 0))
    lines = [
        _tuple("fields", fields),
        _cells("working", body.slots),
        _made("ChunkBlocks", [source.query, "fields", "working"]),
        f"    return blocks.keep({name})",
    ]
    lookup = [
        *source.each_lines(method.each),
        f"_blocks = self.archetypes._kept.get({name}) or self._{method.name}_blocks()",
    ]
    making = _making(method, [], "ChunkBlocks", "these are kept", lines)
    blocks = _with_each("_blocks.current()", method, body)
    return Driver(lookup, blocks, _names(method, body), making)


def levels(method: Method, body: BlockBody) -> Driver:
    """Blocks of the rows of one level after the other from the roots: all fields are gathered."""
    own = [field for field in body.fields if field.owner != PARENT]
    parents = [field for field in body.fields if field.owner == PARENT]
    written = [field.name if field.text in body.written else "" for field in own]
    above, constants = [], []
    for field in parents:
        roots, constant = _above_roots(method, field)
        constants += [constant] if constant else []
        place = literal(written.index(field.name) if field.name in written else None)
        column = call("BlockColumn", [body.views.column(field)], 0)
        above.append(call("ParentColumn", [column, roots, place], 12).lstrip())
    given = ["levels", "self._parent_column", "version", "columns", "above", "working"]
    lines = [
        _tuple("columns", [_column(body, field) for field in own]),
        _tuple("above", above),
        _cells("working", body.slots),
        *_kept(method, "LevelBlocks", given),
    ]
    rows = "self.levels()"
    if method.rows == "_n_active":
        rows = f"rows_below({rows}, data._n_active)"
    made = call(f"_blocks = data._{method.name}_blocks", [rows, "data._version"], 12)
    lookup = [
        f"_blocks = data._kernels.get({literal(method.name)})",
        "if _blocks is None or _blocks.stamp != data._version:",
        *(line[8:] for line in made.split("\n")),
    ]
    parameters = ["levels: tuple[RowArray, ...]", "version: int"]
    making = _making(method, parameters, "LevelBlocks", "good for one version", lines)
    names = [body.views.value(field).text for field in (*own, *parents)]
    names += [slot.text for slot in body.slots]
    return Driver(lookup, "_blocks", names, making, tuple(constants))


def near(method: Method, body: BlockBody, asked: Asked) -> Driver:
    """Blocks of pairs of rows and neighbours, cell by cell: all fields are gathered."""
    values = [f"rows_last({argument.whole})" for argument in method.each]
    names = [
        "_pairs",
        *(value.text for value in body.values),
        *body.pairs.asked.values(),
        *(slot.text for slot in (*body.slots, *body.pairs.working.slots)),
        *(argument.text for argument in method.each),
    ]
    find = _near_of_world if asked.own.is_world else _near_of_component
    met = [FieldValue(one.type, one.name, one.owner) for one in body.pairs.asked]
    lookup, parameters, lines = find(method, body, asked, met)
    given = ["search", "columns", "others", "working", "paired"]
    lines += [
        _cells("working", body.slots),
        _cells("paired", body.pairs.working.slots),
        for_macro(call("return NearBlocks", given, 8)),
    ]
    making = _making(method, parameters, "NearBlocks", "good for one call", lines)
    blocks = f"_blocks.beside({', '.join(values)})" if values else "_blocks"
    return Driver(lookup, blocks, names, making)


Found = tuple[list[str], list[str], list[str]]
"""What gets blocks of pairs; the parameters of the method that makes them, and its first lines."""


def _near_of_component(
    method: Method, body: BlockBody, asked: Asked, met: list[FieldValue]
) -> Found:
    named = f"None if rows is None else {method.chosen}.rows"
    if method.each:
        named = "None if _chosen is None else _chosen.rows"
    given = [literal(method.name), method.radius, asked.own.found, named]
    owners = ""
    if any(one.name == ENTITY for one in met):
        owners = asked.owners(asked.space)  # of rows and ghosts
    passed = ["_search", *([owners] if owners else [])]
    lookup = [
        for_macro(call("_search = self._search", given, 8)).lstrip(),
        f"_blocks = data._{method.name}_blocks({', '.join(passed)})",
    ]
    cells = ["owners" if one.name == ENTITY and owners else body.views.column(one) for one in met]
    lines = [
        _tuple("columns", [_column(body, field) for field in body.fields]),
        _tuple("others", [call("BlockColumn", [one], 0) for one in cells]),
    ]
    return lookup, ["search: NearSearch", *(["owners: EntityArray"] if owners else [])], lines


def _near_of_world(method: Method, body: BlockBody, asked: Asked, met: list[FieldValue]) -> Found:
    lookup = [
        asked.radius_line(method.radius),
        *asked.lines,
        *asked.own.each_lines(method.each, sorted(body.written)),
        f"_blocks = self._{method.name}_blocks({', '.join(['_radius', *asked.passed])})",
    ]
    others = []
    for field in met:
        owners = asked.owners(field.owner) if field.name == ENTITY else ""
        given = [owners or body.views.column(field), asked.other_rows(field.owner)]
        others.append(call("BlockColumn", given, 12).lstrip())
    search = "haunted_search" if asked.asks_ghosts else "joined_search"
    defined = asked.defined([one.owner for one in body.fields], [one.owner for one in met])
    columns = [_column(body, field, asked.own_rows(field.owner)) for field in body.fields]
    lines = [
        *(f"    {line}" for line in defined),
        for_macro(call(f"search = {search}", asked.given("radius"), 8)),
        _tuple("columns", columns),
        _tuple("others", others),
    ]
    return lookup, ["radius: float", *asked.parameters], lines


def _above_roots(method: Method, field: FieldValue) -> tuple[str, str]:
    """What roots read, as an expression, and the constant that it needs."""
    values = dict(method.kernel.program.above_roots)[field.name]
    if not field.type.shape:
        return literal(values[0]), ""
    name = f"_{field.name.upper()}_ABOVE_ROOTS"
    array = call("np.array", [literal(values), SCALARS[field.type.scalar].numpy], 0)
    shape = ", ".join(map(str, (*field.type.shape, 1)))
    return name, f"{name}: Final = {array}.reshape({shape})"


# --- what drivers have in common -----------------------------------------------------------------


def _names(method: Method, body: BlockBody) -> list[str]:
    """The arrays of a block: fields, working memory, and what goes with its rows."""
    fields = [value.text for value in body.values]
    each = [argument.text for argument in method.each]
    return [*fields, *(slot.text for slot in body.slots), *each, *body.emit.beside]


def _with_each(blocks: str, method: Method, body: BlockBody) -> str:
    """Blocks with the values that go with their rows."""
    values = [f"rows_last({argument.whole})" for argument in method.each]
    values += body.emit.beside.values()
    return f"beside({', '.join([blocks, *values])})" if values else blocks


def _views(method: Method, body: BlockBody) -> list[str]:
    """The statement that says over which blocks a call runs: those of all rows, or of some."""
    written = [place for place, one in enumerate(body.fields) if one.text in body.written]
    test, rows = "rows is None", f"{method.chosen}.rows"
    if method.each:
        test, rows = "_chosen is None", "_chosen.rows"
    given = ["_blocks", rows, literal(tuple(written))]
    line = f"_views = _blocks.views if {test} else {call('chosen_blocks', given, 0)}"
    if len(line) + 8 <= WIDTH:
        return [line]
    return [
        "_views: Iterable[tuple[Any, ...]] = _blocks.views",
        f"if {test.replace(' is ', ' is not ')}:",
        *(line[8:] for line in call("_views = chosen_blocks", given, 12).split("\n")),
    ]


def _shared(kernels: int) -> list[str]:
    """How many kernels share the blocks, as an argument, if there are several."""
    return [str(kernels)] if kernels > 1 else []


def _made(kind: str, given: list[str]) -> str:
    return for_macro(call(f"blocks = {kind}", given, 8))


def _kept(method: Method, kind: str, given: list[str]) -> list[str]:
    """The statements that make blocks, and keep them beside a component's columns."""
    kept = f"    self._kernels[{literal(method.name)}] = blocks"
    return [_made(kind, given), kept, "    return blocks"]


def _tuple(name: str, items: list[str]) -> str:
    return for_macro(collection(f"{name} = ", items, 8))


def _column(body: BlockBody, field: FieldValue, rows: str = "None") -> str:
    """A field of the rows that a kernel runs over; `rows`: where they are in its column."""
    used = field in body.gathered, field.text in body.written
    given = [body.views.column(field), rows, *map(literal, used)]
    if used == (True, False):  # as it is by itself
        given = given[: 1 if rows == "None" else 2]
    return call("BlockColumn", given, 12).lstrip()


def _cells(name: str, slots: Sequence[Value]) -> str:
    """A statement that names working memory."""
    cells = (SCALARS[one.scalar].code for one in slots)
    together = (one.layout is Layout.TOGETHER for one in slots)
    kinds = zip(cells, (one.shape for one in slots), together, strict=True)
    return _tuple(name, list(map(literal, kinds)))


def _making(
    method: Method, parameters: list[str], made: str, good: str, lines: Iterable[str]
) -> str:
    """The method that makes blocks: of a component's columns, or of the world."""
    given = ["self", *parameters]
    head = call(f"def _{method.name}_blocks", given, 4, f" -> {made}:").lstrip()
    said = f"Cut the columns of `{method.name}` into blocks; {good}."
    text = docstring_text(said, WIDTH - 11).replace("\n", "\n    ")
    return "\n".join([head, f'    """{text}"""', *lines])
