"""The loop of a run: what steps, whether it plays, at what speed, and what came of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from time import perf_counter
from typing import Any, Final

from ecsgen.inspector.component_readers import InspectedWorld
from ecsgen.inspector.json_values import Json
from ecsgen.inspector.tick_queue import RequestError, make_request_error

Step = Callable[..., object]

_FASTEST: Final = 1e6
"""Maximum of steps a second that can be asked for."""
_PLAIN: Final = (bool, int, float, str)
"""Types of arguments that the page can change."""


class RunLoop:
    """State of a run. It changes on the world's thread only."""

    def __init__(
        self,
        world: InspectedWorld,
        step: Step | None,
        arguments: Mapping[str, Any],
        make: Callable[..., Any] | None,
    ) -> None:
        self.world = world
        self.step = step
        self.arguments = dict(arguments)
        self.steps = 0
        """Number of steps done since the last reset."""
        self._steps_before = 0
        """Number of steps that were done before the last reset."""
        self.speed: float | None = None
        """Steps a second; None for as many as there are."""
        self.is_playing = False
        self.is_over = False
        """True after Stop, and once the inspector is closed."""
        self.is_controlled = step is not None
        """True if the page's buttons control the program's steps."""
        self.error: BaseException | None = None
        self._make = make
        self._single_steps = 0
        self._due = 0.0
        if step is None and arguments:
            raise TypeError("args are arguments of step, and there is no step")
        if step is not None:
            _check_arguments("step", step, self.arguments)
        if make is not None:
            _check_arguments("make", make, {})
        parameters = {} if make is None else inspect.signature(make).parameters
        self._made_with = {
            name: parameter.default
            for name, parameter in parameters.items()
            if parameter.default is not parameter.empty
        }

    @property
    def fields(self) -> list[str]:
        """Names of the arguments of the step and of the parameters of `make`."""
        return [*self.arguments, *self._made_with]

    @property
    def is_ready(self) -> bool:
        """True if a step is to be done now."""
        if self._single_steps:
            return True
        return self.is_playing and (self.speed is None or perf_counter() >= self._due)

    @property
    def pause(self) -> float:
        """Seconds to sleep until something can be due; at most 5 ms, since requests come."""
        if not self.is_playing:
            return 0.005
        return 0.0 if self.speed is None else min(0.005, max(0.0, self._due - perf_counter()))

    def do_steps(self, end: float = 0.0, is_idle: Callable[[], bool] | None = None) -> None:
        """Do a step; of a run at full speed, others until a time or while `is_idle`. O(steps). An
        error pauses the run, and is kept."""
        step, arguments, now = self.step, self.arguments, perf_counter
        assert step is not None
        if not self.is_playing or self.speed is not None:
            end, is_idle = 0.0, None
        self._note_time()
        self.error = None
        try:
            while True:
                step(**arguments)
                self.steps += 1
                if self.is_over or (now() >= end if is_idle is None else not is_idle()):
                    return  # the rest changes in ticks
        except Exception as error:
            self.is_playing, self._single_steps, self.error = False, 0, error

    def take_turn(self) -> None:
        """Note that the program's own loop begins a step."""
        self._note_time()
        self.steps += 1

    @property
    def total(self) -> int:
        """Number of steps done, those before resets included."""
        return self._steps_before + self.steps

    def _note_time(self) -> None:
        self._single_steps = max(0, self._single_steps - 1)
        if self.speed is not None:
            now = perf_counter()
            # steps that were missed are not made up for
            self._due = max(self._due, now - 1 / self.speed) + 1 / self.speed

    def time_json(self) -> dict[str, Json]:
        """Return the number of steps done, and the time where the world has one."""
        tick = getattr(self.world, "tick", None)
        return {
            "step": self.steps,
            **({} if tick is None or callable(tick) else {"tick": int(tick)}),
        }

    def as_json(self) -> Json:
        """Return the state of the run."""
        time, error = self.time_json(), self.error
        choosable = {**self._made_with, **self.arguments}.items()
        return {
            "playing": self.is_playing,
            "steps": time.pop("step"),
            **time,
            "speed": self.speed,
            "error": None if error is None else f"{type(error).__name__}: {error}"[:2000],
            "args": {name: _shown(value) for name, value in self.arguments.items()},
            "make": {name: _shown(value) for name, value in self._made_with.items()},
            "choices": {n: [*type(v).__members__] for n, v in choosable if isinstance(v, Enum)},
            "controls": self.is_controlled,
            "resets": self._make is not None,
        }

    def command(self, body: Json) -> InspectedWorld | None:
        """Do what the page asks for; return a new world if the run is reset. RequestError 422, with
        a message, for what is refused."""
        if not isinstance(body, dict) or len(body) != 1:
            raise RequestError(422, "wanted one of play, pause, step, reset, speed, args, stop")
        [(name, value)] = body.items()
        if name == "reset":
            return self._reset({} if value is True else value)
        if name == "speed":
            self._set_speed(value)
        elif name == "args":
            self.arguments |= _changed(value, self.arguments, "argument")
        elif name not in ("play", "pause", "step", "stop"):
            raise RequestError(422, f"there is no command {name[:100]!r}")
        elif value is not True:
            raise RequestError(422, f"{name}: wanted true")
        elif name == "stop":
            self.is_over = True
        else:
            self.is_playing = name == "play"
            self._single_steps = int(name == "step")
            if name != "pause":
                self.error = None
        return None

    def _set_speed(self, speed: Json) -> None:
        if speed is not None:
            if isinstance(speed, bool) or not isinstance(speed, int | float):
                raise RequestError(422, "speed: wanted a number of steps a second, or null")
            if not 0 < speed <= _FASTEST:
                raise RequestError(422, f"speed: wanted more than 0 and at most {_FASTEST:g}")
        self.speed, self._due = speed, 0.0

    def _reset(self, new_values: Json) -> InspectedWorld:
        if self._make is None:
            raise RequestError(422, "there is no make: serve(world, make=...) can reset")
        made_with = self._made_with | _changed(new_values, self._made_with, "parameter")
        try:
            result = self._make(**made_with)
        except Exception as error:
            raise make_request_error(422, error) from None
        world, step = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
        if not isinstance(getattr(type(world), "MANAGERS", None), tuple):
            raise RequestError(422, f"make returned no world but {type(world).__name__}")
        step = step or self._step_of(world)
        if step is not None:
            try:
                _check_arguments("step", step, self.arguments)
            except TypeError as error:
                raise make_request_error(422, error) from None
        self.world, self.step, self._made_with = world, step, made_with
        self._steps_before = self.total
        self.steps, self.error, self.is_playing, self._single_steps = 0, None, False, 0
        return self.world

    def _step_of(self, world: InspectedWorld) -> Step | None:
        """Return the method of a new world that corresponds to the present step."""
        if self.step is None:
            return None
        owner, name = getattr(self.step, "__self__", None), getattr(self.step, "__name__", "")
        if owner is self.world:
            return getattr(world, name)  # type: ignore[no-any-return]
        for manager in self.world.MANAGERS:
            if owner is getattr(self.world, manager):
                return getattr(getattr(world, manager), name)  # type: ignore[no-any-return]
        raise RequestError(
            422, "make returned a world alone, and step is not a method: return (world, step)"
        )


def _shown(value: Any) -> Json:
    """Return a value that JSON has; of a member, and of a value of another type, a name."""
    if isinstance(value, Enum):
        return value.name
    return value if isinstance(value, _PLAIN) or value is None else type(value).__name__


def _changed(new_values: Json, present: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return checked new values; they have the types of the present ones."""
    if not isinstance(new_values, dict):
        raise RequestError(422, f"wanted an object with the {what}s")
    changed: dict[str, Any] = {}
    for name, value in new_values.items():
        if name not in present:
            raise RequestError(422, f"there is no {what} {name[:100]!r}")
        kind = type(present[name])
        if kind is float and type(value) is int:
            value = float(value)
        elif issubclass(kind, Enum) and value in [*kind.__members__]:
            value = kind[value]
        if present[name] is not None and (
            type(value) is not kind or not issubclass(kind, (*_PLAIN, Enum))
        ):
            raise RequestError(422, f"{name}: wanted {kind.__name__}, not {value!r}"[:500])
        changed[name] = value
    return changed


def _check_arguments(
    name: str, function: Callable[..., object], arguments: Mapping[str, Any]
) -> None:
    """Raise TypeError if a function, `step` or `make`, cannot be called with its arguments."""
    if not callable(function):
        raise TypeError(f"{name}: wanted a function, not {type(function).__name__}")
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        hint = "; serve(..., args={...}) has its arguments" if name == "step" else ""
        raise TypeError(f"{name}: {error}{hint}") from None
