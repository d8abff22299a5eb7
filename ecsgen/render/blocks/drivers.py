"""What brings columns into blocks: a function for each order in which rows come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecsgen.model.programs import ENTITY, PARENT, FieldValue
from ecsgen.model.scalars import SCALARS
from ecsgen.render.blocks.array_values import Layout, Slot
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.calls import call, collection, for_macro
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.methods import Method
from ecsgen.render.kernels.sources import ChunkSource, Source
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
    kept = f"self._kernels.get({literal(method.name)})"
    owners = ["self._entity_column[:n]"] if has_owners else []
    columns = [*owners, *(body.views.column(field, "n") for field in body.fields)]
    lines = [
        f"    n = self.{method.rows}",
        for_macro(collection("columns = ", columns, 8)),
        _cells("working", body.slots),
        _made("Blocks", ["n", "columns", "working", kept, *_shared(kernels)]),
        f"    self._kernels[{literal(method.name)}] = blocks",
        "    return blocks",
    ]
    lookup = [
        f"_blocks = data._kernels.get({literal(method.name)})",
        f"if _blocks is None or _blocks.stamp != {source.found}:",
        f"    _blocks = data._{method.name}_blocks()",
        *(_views(method, body) if method.takes_rows else []),
    ]
    blocks = _with_each("_views" if method.takes_rows else "_blocks.views", method, body)
    names = [*(["_owners"] if has_owners else []), *_names(method, body)] or ["_"]
    good = f"good until they move or {source.good}"
    return Driver(lookup, blocks, names, _cutting(method, ["self"], "Blocks", good, lines))


def joined(method: Method, body: BlockBody, source: Source, kernels: int = 1) -> Driver:
    """Blocks of rows of several managers, kept until they move or are others."""
    found, name = source.variable.removeprefix("_"), literal(method.name)
    owners = dict.fromkeys(field.owner for field in body.read)
    holders = [source.holders[owner] for owner in owners]
    columns = []
    for field in body.fields:
        rows = source.rows(field.owner, found)
        given = [body.views.column(field), rows, *body.is_used(field)]
        columns.append(for_macro(call("JoinedColumn", given, 12, ",")))
    count = source.count.removeprefix("_")
    lines = [
        "    columns = [",
        *columns,
        "    ]",
        _cells("working", body.slots),
        for_macro(collection("holders = ", holders, 8)),
        _made("JoinedBlocks", [found, count, "columns", "working", *_shared(kernels)]),
        for_macro(call("return blocks.keep", [name, "holders"], 8)),
    ]
    lookup = [
        f"{source.variable} = {source.found}",
        *source.each_lines(method.each, sorted(body.written)),
        f"_blocks = {holders[0]}._joined.get({name})",
        f"if _blocks is None or _blocks.stamp != {source.variable}:",
        f"    _blocks = self._{method.name}_blocks({source.variable})",
    ]
    said = f"Cut the columns of `{method.name}` into blocks; good until they move or {source.good}."
    parameters = ["self", f"{found}: {source.annotation}"]
    making = _world_making(method, parameters, "JoinedBlocks", said, lines)
    return Driver(lookup, _with_each("_blocks", method, body), _names(method, body), making)


def chunks(method: Method, body: BlockBody, source: ChunkSource) -> Driver:
    """Blocks of chunks, which see by themselves whether they are good."""
    name, fields = literal(method.name), []
    for field in body.fields:
        is_split = body.views.value(field).layout is Layout.PLANES
        planes = [literal(field.type.shape)] if is_split else []
        fields.append(call("ChunkField", [*map(literal, source.place(field)), *planes], 0))
    lines = [
        for_macro(collection("fields = ", fields, 8)),
        _cells("working", body.slots),
        _made("ChunkBlocks", [source.query, "fields", "working"]),
        f"    return blocks.keep({name})",
    ]
    lookup = [
        *source.each_lines(method.each),
        f"_blocks = self.archetypes._kept.get({name}) or self._{method.name}_blocks()",
    ]
    said = f"Have chunks cut into blocks for `{method.name}`; these are kept."
    making = _world_making(method, ["self"], "ChunkBlocks", said, lines)
    blocks = _with_each("_blocks.current()", method, body)
    return Driver(lookup, blocks, _names(method, body), making)


def levels(method: Method, body: BlockBody) -> Driver:
    """Blocks of the rows of one level after the other from the roots: all fields are gathered."""
    into = [Slot(one.text, one.scalar, one.shape, one.layout) for one in body.values]
    slots, constants = [*into, *body.slots], []
    whole = list(dict.fromkeys(FieldValue(one.type, one.name) for one in body.fields))
    moved = []
    for field in body.fields:
        column = str(whole.index(FieldValue(field.type, field.name)))
        if field.owner == PARENT:
            above, constant = _above_roots(method, field)
            constants += [constant] if constant else []
            moved.append(f"ParentField({column}, {above})")
        else:
            moved.append(f"LevelField({', '.join([column, *body.is_used(field)])})")
    given = ["levels", "self._parent_column", "version", "columns", "working", "fields"]
    lines = [
        for_macro(collection("columns = ", list(map(body.views.column, whole)), 8)),
        _cells("working", slots),
        for_macro(collection("fields = ", moved, 8)),
        _made("LevelBlocks", given),
        f"    self._kernels[{literal(method.name)}] = blocks",
        "    return blocks",
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
    parameters = ["self", "levels: tuple[RowArray, ...]", "version: int"]
    making = _cutting(method, parameters, "LevelBlocks", "good for one version", lines)
    names = [slot.name for slot in slots]
    return Driver(lookup, "_blocks", names, making, tuple(constants))


def near(method: Method, body: BlockBody, asked: Asked) -> Driver:
    """Blocks of pairs of rows and neighbours, cell by cell: all fields are gathered."""
    asking = _near_of_world if asked.own.is_world else _near_of_component
    values = [f"rows_last({argument.whole})" for argument in method.each]
    names = [
        "_pairs",
        *(value.text for value in body.values),
        *body.pairs.asked.values(),
        *(slot.name for slot in (*body.slots, *body.pairs.working.slots)),
        *(argument.text for argument in method.each),
    ]
    lookup, making = asking(method, body, asked)
    blocks = f"_blocks.beside({', '.join(values)})" if values else "_blocks"
    return Driver(lookup, blocks, names, making)


def _near_of_component(method: Method, body: BlockBody, asked: Asked) -> tuple[list[str], str]:
    named = f"None if rows is None else {method.chosen}.rows"
    if method.each:
        named = "None if _chosen is None else _chosen.rows"
    given = [literal(method.name), method.radius, asked.own.found, named]
    owners = ""
    if any(one.name == ENTITY for one in body.pairs.asked):
        owners = asked.owners(asked.space)  # of rows and ghosts
    passed = ["_search", *([owners] if owners else [])]
    lookup = [
        for_macro(call("_search = self._search", given, 8)).lstrip(),
        f"_blocks = data._{method.name}_blocks({', '.join(passed)})",
    ]
    columns, others = [], []
    for field in body.fields:
        cells = [body.views.column(field), *body.is_used(field)]
        columns.append(f"NearColumn({', '.join(cells)})")
    for field in _asked_fields(body):
        is_owner = field.name == ENTITY and owners
        others.append(f"OtherColumn({'owners' if is_owner else body.views.column(field)})")
    parameters = ["self", "search: NearSearch", *(["owners: EntityArray"] if owners else [])]
    lines = _near_lines(body, columns, others)
    return lookup, _cutting(method, parameters, "NearBlocks", "good for one call", lines)


def _near_of_world(method: Method, body: BlockBody, asked: Asked) -> tuple[list[str], str]:
    lookup = [
        asked.radius_line(method.radius),
        *asked.lines,
        *asked.own.each_lines(method.each, sorted(body.written)),
        f"_blocks = self._{method.name}_blocks({', '.join(['_radius', *asked.passed])})",
    ]
    columns, others, met = [], [], _asked_fields(body)
    for field in body.fields:
        given = [body.views.column(field), *body.is_used(field), asked.own_rows(field.owner)]
        columns.append(f"NearColumn({', '.join(given)})")
    for field in met:
        owners = asked.owners(field.owner) if field.name == ENTITY else ""
        cells = owners or body.views.column(field)
        others.append(f"OtherColumn({cells}, {asked.other_rows(field.owner)})")
    search = "haunted_search" if asked.asks_ghosts else "joined_search"
    defined = asked.defined([one.owner for one in body.fields], [one.owner for one in met])
    lines = [
        *(f"    {line}" for line in defined),
        for_macro(call(f"search = {search}", asked.given("radius"), 8)),
        *_near_lines(body, columns, others),
    ]
    said = f"Find the rows for `{method.name}`, and who is in reach of each; good for one call."
    parameters = ["self", "radius: float", *asked.parameters]
    return lookup, _world_making(method, parameters, "NearBlocks", said, lines)


def _near_lines(body: BlockBody, columns: list[str], others: list[str]) -> list[str]:
    given = ["search", "columns", "others", "working", "paired"]
    return [
        for_macro(collection("columns = ", columns, 8)),
        for_macro(collection("others: tuple[OtherColumn, ...] = ", others, 8)),
        _cells("working", body.slots),
        _cells("paired", body.pairs.working.slots),
        for_macro(call("return NearBlocks", given, 8)),
    ]


def _asked_fields(body: BlockBody) -> list[FieldValue]:
    """The neighbours' fields."""
    return [FieldValue(one.type, one.name, one.owner) for one in body.pairs.asked]


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
    return [*fields, *(slot.name for slot in body.slots), *each, *body.emit.beside]


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


def _cells(name: str, slots: Sequence[Slot]) -> str:
    """A statement that names working memory."""
    cells = [
        literal((SCALARS[slot.scalar].code, slot.shape, slot.layout is Layout.TOGETHER))
        for slot in slots
    ]
    return for_macro(collection(f"{name}: tuple[Cells, ...] = ", cells, 8))


def _cutting(
    method: Method, parameters: list[str], made: str, good: str, lines: Iterable[str]
) -> str:
    """The method of a component's columns that makes blocks."""
    said = f"Cut the columns of `{method.name}` into blocks; {good}."
    head = f"def _{method.name}_blocks({', '.join(parameters)}) -> {made}:"
    return "\n".join([head, f'    """{said}"""', *lines])


def _world_making(
    method: Method, parameters: list[str], made: str, said: str, lines: Iterable[str]
) -> str:
    """The method of the world that makes blocks."""
    head = call(f"def _{method.name}_blocks", parameters, 4, f" -> {made}:").lstrip()
    text = docstring_text(said, WIDTH - 11).replace("\n", "\n    ")
    return "\n".join([head, f'    """{text}"""', *lines])
