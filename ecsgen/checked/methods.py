"""Methods of a world and its managers that were generated from texts of the schemas, and stand-ins
for them in one block at a time.

A stand-in is other code in the method's own function: so bound methods that were taken before
follow, and nothing is put into classes.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, TypeAlias

from ecsgen_runtime.world.world_base import WorldBase
from ecsgen_testing.reference.schema import Kernel, Reduction
from ecsgen_testing.reference.world_copy import manager_of

from ecsgen.checked.schema_texts import SchemaTexts, read_schemas
from ecsgen.files import manifest
from ecsgen.files.output_paths import MANIFEST
from ecsgen.model.schedules import fused_passes


class GeneratedMethod(NamedTuple):
    """A kernel, a fused pass, a reduction, or what writes a table."""

    owner: Any
    attribute: str
    name: str
    """As people know it: `Person.catch`, `stray + drift`."""
    over: str
    """The source of its rows; "" for a table."""
    kernels: Sequence[Kernel] = ()
    """One, or those of a fused pass."""
    readers: Sequence[Reduction] = ()
    """The reduction, or the columns or rows of the table."""


def owner_of(world: WorldBase, texts: SchemaTexts, home: str) -> Any:
    """Return a component's manager, or the world."""
    if not home or texts.schema.components[home].is_chunked:
        return world
    return manager_of(world, texts.schema, home)


def methods_of(world: WorldBase, texts: SchemaTexts) -> Iterator[GeneratedMethod]:
    """Yield all methods but schedules."""
    for name, kernel in texts.kernels.items():
        owner = owner_of(world, texts, kernel.home)
        yield GeneratedMethod(owner, kernel.own_name, name, kernel.over, [kernel])
    for name, reduction in texts.reductions.items():
        owner = owner_of(world, texts, reduction.home)
        if owner is not world:
            yield GeneratedMethod(owner, reduction.name, name, reduction.home, (), [reduction])
    project = texts.project
    for home, fused in fused_passes(project.by_name, project.world).values():
        prefix = f"{home}." if home else ""
        kernels = [texts.kernels[prefix + kernel.name] for kernel in fused.kernels]
        names = " + ".join(kernel.name for kernel in kernels)
        owner = owner_of(world, texts, home)
        yield GeneratedMethod(owner, f"_{fused.name}", names, kernels[0].over, kernels)
    for name, table in texts.schema.tables.items():
        yield GeneratedMethod(world, f"_line_of_{name}", name, "", (), table.sources)


def conditions_of_schedules(texts: SchemaTexts) -> set[str]:
    """Return the reductions that entries of schedules read after each run, by `_value_of_…`."""
    schedules = texts.project.world.schedules
    return {entry.condition for _, entries in schedules for entry in entries}


_open: Final[dict[int, Callable[[], None] | None]] = {}
"""Ends the open block of a world, by its identity, if it gives way to others."""


def package_folder(world: WorldBase) -> Path:
    """Return the folder of the package that a world is of. Raises TypeError for what is none."""
    kinds = [kind for kind in type(world).__mro__ if "MANAGERS" in vars(kind)]
    file = getattr(sys.modules.get(kinds[-2].__module__), "__file__", None) if kinds[1:] else None
    if file is None:
        raise TypeError(f"wanted a world of a generated package, not {type(world).__name__}")
    ranks = getattr(world, "_count_ranks", int)()
    if ranks > 1:
        raise TypeError(f"{type(world).__name__} has shards on {ranks} ranks, wanted one")
    return Path(file).parent


def schemas_in(folder: Path, schemas: Path | str | None = None) -> SchemaTexts:
    """Return the schemas from which the package in a folder was built. Raises ValueError if they
    are others, FileNotFoundError if there are none."""
    texts, digests = read_schemas(schemas)
    built = manifest.read(folder / MANIFEST)
    if built is None or dict(built.schemas) != dict(digests):
        raise ValueError(
            f"the package in {folder} was not built from these schemas: run `ecsgen build`"
        )
    return texts


Replacement: TypeAlias = Callable[..., Any]
"""Is called with the object and all arguments, by position."""


class Original(NamedTuple):
    """A method as it was."""

    call: Callable[..., Any]
    """Takes the object and all arguments by position."""
    names: Sequence[str]
    """Of the arguments."""
    module: Mapping[str, Any]
    """Names of the module that defines it."""


Wrap: TypeAlias = Callable[[Original], Replacement]
"""Makes what is called instead of a method."""
_lock: Final = threading.RLock()


@contextmanager
def around(
    world: WorldBase,
    wraps: Iterable[tuple[Any, str, Wrap]],
    give_way: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Replace methods of a world and its managers until the block ends.

    `wraps`: objects, their attributes, and what makes the replacements; `give_way`: ends this block
    when another one begins. Raises RuntimeError for a second block of a world.
    """
    end_other = _open.get(id(world))
    if end_other is not None:
        end_other()
    if id(world) in _open:
        raise RuntimeError(f"this {type(world).__name__} is checked or timed already")
    _open[id(world)], replaced = give_way, list[tuple[_Exchange, Any]]()
    try:
        for owner, name, wrap in wraps:
            exchange = _exchange_of(owner, name)
            with _lock:
                exchange.replacements[id(owner)] = wrap(exchange.original)
            replaced.append((exchange, owner))
        yield
    finally:
        del _open[id(world)]
        for exchange, owner in replaced:
            exchange.end(owner)


def _exchange_of(owner: Any, name: str) -> _Exchange:
    """Return the exchange of a method of an object: the generated one, under any wrapper."""
    kinds = [kind for kind in type(owner).__mro__ if name in vars(kind)]
    function = inspect.unwrap(vars(kinds[-1])[name])
    assert isinstance(function, FunctionType)
    with _lock:
        if function not in _exchanges:
            _exchanges[function] = _Exchange(function)
        return _exchanges[function]


class _Exchange:
    """A function with other code, and what is called for which object instead."""

    def __init__(self, function: FunctionType) -> None:
        self._function, self._code = function, function.__code__
        count = self._code.co_argcount + self._code.co_kwonlyargcount
        by_position = self._code.replace(
            co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0
        )
        self.original = Original(
            FunctionType(by_position, function.__globals__, function.__name__),
            self._code.co_varnames[1:count],
            function.__globals__,
        )
        self.replacements: dict[int, Replacement] = {}
        """By the identity of the object, which its block keeps alive."""
        function.__code__ = _stand_in(self._code, self.replacements.get, self.original.call)

    def end(self, owner: Any) -> None:
        """Give an object its own method again, and with the last one the function its code."""
        with _lock:
            del self.replacements[id(owner)]
            if not self.replacements:
                self._function.__code__ = self._code
                del _exchanges[self._function]


def _stand_in(code: CodeType, replacement_of: object, original: object) -> CodeType:
    """Return code with the same parameters, which calls the replacement or the original."""
    names = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    head = [*names]
    if code.co_kwonlyargcount:
        head.insert(code.co_argcount, "*")
    if code.co_posonlyargcount:
        head.insert(code.co_posonlyargcount, "/")
    known = {"_0": replacement_of, "_1": id, "_2": original}
    text = (
        f"def {code.co_name}({', '.join(head)}):\n"
        "    _replacement_of = '_0'; _id = '_1'; _original = '_2'\n"
        f"    return _replacement_of(_id({names[0]}), _original)({', '.join(names)})\n"
    )
    defined: dict[str, Any] = {}
    exec(compile(text, "<stand-in>", "exec"), defined)
    calling: CodeType = defined[code.co_name].__code__
    return calling.replace(co_consts=tuple(known.get(part, part) for part in calling.co_consts))


_exchanges: Final[dict[FunctionType, _Exchange]] = {}
"""Functions that have other code now."""
