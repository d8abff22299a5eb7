"""Checked runs of a world: before each kernel the reference interpreter runs it on a copy."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from ecsgen_runtime.base.locks import is_locked
from ecsgen_runtime.kernels.blocks import SelectedRows
from ecsgen_runtime.world.world_base import WorldBase
from ecsgen_testing.reference import reduced_values
from ecsgen_testing.reference.naive_world import World
from ecsgen_testing.reference.schema import Kernel, Reduction
from ecsgen_testing.reference.scopes import Scope
from ecsgen_testing.reference.world_copy import copied_world, manager_of
from numpy.typing import ArrayLike

from ecsgen.checked.findings import USUAL, CheckError, Finding, check_kinds
from ecsgen.checked.kernel_checks import (
    CheckedNames,
    CheckedRun,
    compile_checked,
    compile_reduction,
)
from ecsgen.checked.methods import (
    GeneratedMethod,
    Original,
    Wrap,
    around,
    conditions_of_schedules,
    methods_of,
    owner_of,
    package_folder,
    schemas_in,
)
from ecsgen.checked.recorder import Pause, Recorder, Trace
from ecsgen.checked.schema_texts import SchemaTexts, parsed_condition
from ecsgen.diagnostics import did_you_mean
from ecsgen.model.schedules import has_time

_Call: TypeAlias = Callable[..., Any]
"""Is called with a method as it was, its object and its arguments."""


@contextmanager
def checked(
    world: WorldBase,
    schemas: Path | str | None = None,
    *,
    find: Iterable[str] = USUAL,
    stop: bool = True,
    limit: int = 100,
) -> Iterator[Check]:
    """Check all kernels, schedules, reductions and tables of a world until the block ends.

    `schemas`: their folder, by default what `ecsgen build` takes here. `find`: kinds of findings;
    `stop`: whether the first one raises `CheckError`; else at most `limit` are collected.
    """
    kinds = (find,) if isinstance(find, str) else tuple(find)
    check_kinds(kinds)
    recorder = Recorder(kinds, stop=stop, limit=limit)
    texts = schemas_in(package_folder(world), schemas)
    try:
        with checking(world, texts, recorder) as check:
            yield check
    finally:
        findings = recorder.findings
        if findings and not stop:
            count, places = sum(finding.count for finding in findings), len(findings)
            number = f"{count} finding{'s' * (count != 1)} at {places} place{'s' * (places != 1)}"
            first = str(findings[0]).partition("\n")[0]
            warnings.warn(f"{number}, the first: {first}", RuntimeWarning, stacklevel=3)


@contextmanager
def checking(world: WorldBase, texts: SchemaTexts, recorder: Recorder) -> Iterator[Check]:
    """Check a world until the block ends, and note findings with others."""
    check = Check(world, texts, recorder)
    with around(world, check.wraps()):
        yield check


class Check:
    """An open block of a checked world."""

    def __init__(self, world: WorldBase, texts: SchemaTexts, recorder: Recorder) -> None:
        self._world, self._texts, self._recorder = world, texts, recorder
        self._schema = texts.schema
        self._thread = threading.get_ident()
        self._is_reading = False
        """True while a kernel or table reads reductions, at which it has looked."""
        self._has_time = has_time(texts.project.world)
        self._compile = cache(partial(compile_checked, texts=texts, recorder=recorder))
        self._compile_reduction = cache(partial(compile_reduction, texts=texts, recorder=recorder))

    @property
    def findings(self) -> list[Finding]:
        """The findings, each place and kind once."""
        return self._recorder.findings

    def trace(
        self,
        kernel: str,
        *,
        who: ArrayLike | None = None,
        row: ArrayLike | None = None,
        to: Callable[[str], Any] = print,
    ) -> Trace:
        """Give a line away for each step of some rows of a kernel, `Person.catch`, as it is run.

        `who`: an entity or id, or several, `row`: a number, or several; without both it is the
        first row of a call that acts. What is returned has `cancel()`. Raises ValueError for an
        unknown kernel, TypeError for what is no number.
        """
        trace = Trace(self._recorder, self._checked_name(kernel), who, row, to)
        self._recorder.followers.append(trace)
        return trace

    def pause(
        self,
        kernel: str,
        *,
        who: ArrayLike | None = None,
        row: ArrayLike | None = None,
        when: str = "",
    ) -> Pause:
        """Call `breakpoint()` before the first step of such a row; `who` and `row` as for `trace`.

        `when`: before the first step at which the names of this condition are known and it is true,
        without `who` and `row` of any row.
        Raises as `trace`, and ValueError with the diagnostic for what is no condition.
        """
        name = self._checked_name(kernel)
        names = self._compile(self._texts.kernels[name]).names
        assert isinstance(names, CheckedNames)
        locals = {n: f"{s.type}{[*s.shape] if s.shape else ''}" for n, s in names.ever.items()}
        condition = parsed_condition(when, name, self._texts, locals) if when else None
        all_names = replace(names, locals=names.ever)
        pause = Pause(self._recorder, name, who, row, condition, all_names)
        self._recorder.followers.append(pause)
        return pause

    def _checked_name(self, kernel: str) -> str:
        """Return a kernel's name. Raises ValueError for an unknown one."""
        known = self._texts.kernels
        if kernel not in known:
            hint = did_you_mean(kernel, known)
            raise ValueError(f"there is no kernel {kernel!r}" + (f"; {hint}" if hint else ""))
        return kernel

    def wraps(self) -> Iterator[tuple[Any, str, Wrap]]:
        """Yield what stands in for kernels, fused passes, reductions and tables."""
        conditions = conditions_of_schedules(self._texts)
        for method in methods_of(self._world, self._texts):
            call: _Call = partial(self._call_reader, method)
            if method.kernels[1:]:
                call = partial(self._call_fused, method.kernels)
            elif method.kernels:
                call = partial(self._call_kernel, method.kernels[0])
            yield method.owner, method.attribute, partial(partial, call)
            if method.name in conditions:
                call = partial(self._call_value, method)
                yield method.owner, f"_value_of_{method.attribute}", partial(partial, call)
        for name, kernel in self._texts.assignments.items():
            yield self._world, f"_{name}", partial(partial, partial(self._call_kernel, kernel))

    # Calls

    def _refuse_threads(self) -> None:
        if threading.get_ident() != self._thread:
            name = type(self._world).__name__
            raise RuntimeError(f"this {name} is checked in another thread")

    def _call_kernel(self, kernel: Kernel, original: Original, owner: Any, *args: Any) -> Any:
        """Run a kernel on a copy; if nothing stops it, call the kernel itself."""
        self._refuse_threads()
        self._recorder.n_calls += 1
        call, problem = None, None
        try:
            call = self._run(kernel, original, dict(zip(original.names, args, strict=True)))
        except (TypeError, ValueError, OverflowError, LookupError) as error:
            problem = error
        try:
            if call is not None:
                call.act()
        except CheckError as error:
            raise CheckError(error.finding) from None  # without the interpreter's frames
        result = self._call_original(original, owner, *args)
        if problem is not None:  # it is one of the interpreter, not of the arguments
            raise problem
        return result

    def _run(
        self, kernel: Kernel, original: Original, arguments: Mapping[str, Any]
    ) -> CheckedRun | None:
        """Return a call on a copy of the world; None if the kernel is going to refuse it. Raises
        what is wrong with arguments and radii."""
        compiled = self._compile(kernel)
        if compiled.is_mortal and any(map(is_locked, self._world.all_managers())):
            return None
        copy = copied_world(self._world, self._schema)
        holder = owner_of(self._world, self._texts, kernel.home)
        state = holder.json_state()
        copy.seeds[kernel.home] = state.get("seed", 0)
        copy.calls[kernel.name] = state.get("calls", {}).get(kernel.own_name, 0)
        named = arguments.get("rows")
        places, count = None, len(copy.actors(kernel.over))
        used = [*range(count)]
        if kernel.over in copy.rows and not self._schema.components[kernel.over].is_chunked:
            manager = manager_of(self._world, self._schema, kernel.over)
            used = [row.number for row in copy.rows[kernel.over]]
            if named is not None:
                may_repeat = kernel.turns == "given"
                selected = SelectedRows(manager, named, may_repeat=may_repeat).rows.tolist()
                index_of = {row: index for index, row in enumerate(used)}
                places = [index_of[row] for row in selected]
                count, used = len(places), [*range(len(places))]
            elif kernel.home and kernel.turns != "given":
                count = manager.data.n
            elif not kernel.home:
                count = sum(row.is_active for row in copy.rows[kernel.over])
                used = [*range(count)]
        converted = _converted(kernel, original, arguments, count, used)
        run = CheckedRun(copy, compiled, self._recorder, places, converted)
        self._look_at_read(copy, compiled.names.reductions, set())
        self._begin(kernel.name, copy, len(run.scopes))
        return run

    def _begin(self, name: str, copy: World, n_rows: int) -> None:
        """Begin a call over some rows of a copy of the world."""
        self._recorder.begin(name, copy.tick if self._has_time else None, n_rows)

    def _call_fused(
        self, kernels: Iterable[Kernel], original: Original, owner: Any, *args: Any
    ) -> None:
        """Call the kernels of a fused pass one after the other."""
        arguments = dict(zip(original.names, args, strict=True))
        for kernel in kernels:
            holder = owner_of(self._world, self._texts, kernel.home)
            getattr(holder, kernel.own_name)(**{name: arguments[name] for name in kernel.args})

    def _call_reader(
        self, reader: GeneratedMethod, original: Original, owner: Any, *args: Any
    ) -> Any:
        """Look at the rows of a reduction, or of a table's columns, then call it."""
        self._refuse_threads()
        self._recorder.n_calls += 1
        copy, known = copied_world(self._world, self._schema), set[str]()
        for reduction in reader.readers:
            self._look_at(copy, reader.name, reduction, known)
        return self._call_original(original, owner, *args)

    def _call_value(self, reader: GeneratedMethod, original: Original, owner: Any) -> Any:
        """Look at the rows of a reduction whose value a schedule reads."""
        call = original.call if self._is_reading else partial(self._call_reader, reader, original)
        return call(owner)

    def _call_original(self, original: Original, owner: Any, *args: Any) -> Any:
        """Call a method that reads reductions, if any, before its callbacks call others."""
        self._is_reading = True
        try:
            return original.call(owner, *args)
        finally:
            self._is_reading = False

    def _look_at_read(self, copy: World, read: Mapping[str, Reduction], known: set[str]) -> None:
        """Look at reductions whose values are read, but those that are known."""
        for name, reduction in read.items():
            if name not in known:
                known.add(name)
                self._look_at(copy, name, reduction, known)

    def _look_at(self, copy: World, name: str, reduction: Reduction, known: set[str]) -> None:
        """Look at the rows of a reduction one by one, first at those of the ones that it reads."""
        compiled = self._compile_reduction(reduction)
        self._look_at_read(copy, compiled.read, known)
        reading = reduced_values.reading_of(copy, reduction)
        actors_of = reduced_values.actors_to_count if reduction.home else _present
        actors = [*actors_of(copy, reduction)]
        self._begin(name, copy, len(actors))
        with np.errstate(all="ignore"):
            for actor in actors:
                compiled.look(Scope(reading, actor, 0, {}))


def _present(copy: World, reduction: Reduction) -> Any:
    return reduced_values.present_actors(copy, reduction.over)


def _converted(
    kernel: Kernel, original: Original, arguments: Mapping[str, Any], count: int, used: list[int]
) -> dict[str, Any]:
    """Return arguments as the kernel takes them, by its own converters, and raise as these do.
    `count`: how many rows there is a value for in those of each row, `used`: which of them act."""
    converted = {}
    for name, field in kernel.args.items():
        converter = original.module[f"_{kernel.own_name}_{name}_argument".upper()]
        if field.is_each:
            column = converter.to_column(arguments[name], count)
            converted[name] = np.broadcast_to(column, (count, *field.shape))[used]
        else:
            converted[name] = np.reshape(converter.to_cell(arguments[name]), field.shape)
    return converted
