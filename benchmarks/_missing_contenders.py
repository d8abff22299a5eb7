"""Contenders that are not installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


class MissingError(Exception):
    """Something that can't take part; the message says what to install."""


def library(name: str) -> Any:
    """Import a library, or raise `MissingError`."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, name.partition(".")[0]):
            raise
        raise MissingError(f"{name} is not installed (pip install {name})") from None


@dataclass(frozen=True, slots=True)
class Contender:
    """Makes the data of any number of rows up to a limit."""

    name: str
    make: Any
    limit: float


def available(
    everybody: Iterable[tuple[str, Callable[[], Any], float]],
    without: Iterable[str],
    skipped: dict[str, str],
) -> list[Contender]:
    """Return who can take part and has no part of these names; of the others note why not."""
    contenders = []
    for name, prepare, limit in everybody:
        if any(word in name for word in without):
            skipped[name] = "not asked for"
            continue
        try:
            contenders.append(Contender(name, prepare(), limit))
        except MissingError as reason:
            skipped[name] = str(reason)
    for name, why in skipped.items():
        print(f"{name} is left out: {why}")
    return contenders


def need_methods_in_c() -> None:
    """Raise `MissingError` where ecsgen-runtime was installed without a compiler."""
    try:
        importlib.import_module("ecsgen_runtime.accelerator")
    except ModuleNotFoundError:
        raise MissingError("methods in C are not compiled (make fast)") from None


def library_or_none(name: str) -> Any:
    """Import one of the contenders, or say that it is left out."""
    try:
        return library(name)
    except MissingError as reason:
        print(f"{name} is left out: {reason}")
        return None
