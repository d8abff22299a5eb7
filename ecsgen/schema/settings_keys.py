"""Settings of the world: their types, defaults and bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ecsgen.diagnostics import quote
from ecsgen.model import SETTINGS, BaseType, FieldType, Setting
from ecsgen.schema.components import field_default
from ecsgen.schema.declarations import Declaration, NameRegistry
from ecsgen.schema.defaults import check_default
from ecsgen.schema.document_specs import WorldSpec
from ecsgen.schema.names import SETTING_NAMES, check_member
from ecsgen.schema.type_parser import TypeScope, parse_type
from ecsgen.schema.validation import BadValueError

_NUMBERS = (BaseType.INT, BaseType.FLOAT)


def build_settings(draft: Declaration[WorldSpec], types: TypeScope) -> tuple[Setting, ...]:
    """Return the valid settings; reports E101 to E108 and E524."""
    claims = NameRegistry(draft.diagnostics)
    settings = []
    for name, spec in draft.spec.long_settings.items():
        path = ("settings", name)
        key = draft.key_mark(*path)
        if check_member(name, "a setting", key, draft.diagnostics, taken=SETTING_NAMES):
            claims.register(name, "a setting", key)
        marks = {**draft.key_marks(*path), "": key}
        mark = draft.value_mark(*path, "type") if "type" in marks else draft.value_mark(*path)
        try:
            type_ = parse_type(spec.type, types, f"setting {quote(name)}")
        except BadValueError as error:
            draft.report_error(error, mark)
            continue
        default = field_default(draft, path, type_, types)
        low, high = (_bound(draft, name, bound, type_) for bound in ("min", "max"))
        setting = Setting(
            name=name,
            type=type_,
            default=default,
            doc=spec.doc,
            unit=spec.unit,
            marks={**marks, "type": mark},
            low=low,
            high=high,
        )
        _check_bounds(draft, setting)
        settings.append(setting)
    return tuple(settings)


def with_settings(
    types: TypeScope, draft: Declaration[WorldSpec], settings: Iterable[Setting]
) -> TypeScope:
    """Return the scope in which kernels know the settings."""
    known, named = tuple(settings), draft.key_marks(SETTINGS)
    wrong = named.keys() - {setting.name for setting in known}
    may_have_more = any(draft.is_incomplete(*path) for path in ((), (SETTINGS,)))
    return replace(
        types,
        settings=known,
        wrong_settings=frozenset(f"{SETTINGS}.{name}" for name in wrong),
        incomplete=frozenset([SETTINGS] * may_have_more),
    )


def _bound(
    draft: Declaration[WorldSpec], name: str, bound: str, type_: FieldType
) -> int | float | None:
    node = draft.node.at("settings", name, bound)
    if node is None:
        return None
    if type_.base not in _NUMBERS or type_.shape:
        message = f"{quote(name)} is {type_.text}: {bound!r} is for numbers without a shape"
        draft.report("E524", message, draft.key_mark("settings", name, bound))
        return None
    try:
        value = check_default(node, type_, None)
    except BadValueError as error:
        draft.report("E524", f"{bound!r} of {quote(name)}: {error.message}", node.mark)
        return None
    assert isinstance(value, (int, float))
    if value != value:
        draft.report("E524", f"{bound!r} of {quote(name)} is NaN", node.mark)
        return None
    return value


def _check_bounds(draft: Declaration[WorldSpec], setting: Setting) -> None:
    """Report a range without a number, and a default outside of it."""
    low, high, default = setting.low, setting.high, setting.default
    path = ("settings", setting.name)
    if low is not None and high is not None and low > high:
        message = f"{quote(setting.name)} is at least {low} and at most {high}: no number is both"
        draft.report("E524", message, draft.value_mark(*path, "max"))
        return
    if not isinstance(default, (int, float)) or (low is None and high is None):
        return
    if not (low is None or default >= low) or not (high is None or default <= high):
        wanted = f"less than 'min: {low}'" if low is not None and default < low else ""
        wanted = wanted or (f"more than 'max: {high}'" if default == default else "NaN")
        is_written = draft.node.at(*path, "default") is not None
        mark = draft.value_mark(*path, "default") if is_written else setting.marks[""]
        message = f"the default of {quote(setting.name)}, {default}, is {wanted}"
        hint = "" if is_written else "give it a 'default'"
        draft.report("E524", message, mark, hint)
