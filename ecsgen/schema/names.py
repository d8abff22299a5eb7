"""Names: what is a name at all, and which names generated code keeps for itself.

The lists do not depend on a component's policies, so switching a policy on never breaks a name.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import Final

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Mark
from ecsgen.schema.taken import CLASS_NAMES

MAX_LENGTH: Final = 64

# The same in every Python that ecsgen runs on.
KEYWORDS: Final = frozenset(keyword.kwlist)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- components, enums and worlds, which become classes -------------------------------------

CLASS_GROUPS: Final[dict[str, frozenset[str]]] = {
    **{group: _words(names) for group, names in CLASS_NAMES.items()},
    "constants of its modules": _words(
        "COLD_COLUMNS COLD_DEFAULT COLD_DEFAULTS COLD_ROW_BYTES COLD_STRUCT COLUMNS MANAGER "
        "ROW_BYTES SORT_KEYS CONVERTERS FIELDS CHUNK_BYTES PARTS"
    ),
    "builtins": _words(
        "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup "
        "BufferError Ellipsis Exception ExceptionGroup False FloatingPointError IndexError "
        "KeyError LookupError MemoryError NameError None NotImplemented NotImplementedError "
        "OSError OverflowError RecursionError ReferenceError ResourceWarning RuntimeError "
        "RuntimeWarning StopIteration SystemError True TypeError UserWarning ValueError "
        "ZeroDivisionError"
    ),
}
RESERVED_CLASS_NAMES: Final = frozenset().union(*CLASS_GROUPS.values())

# A component named Foo also makes FooManager, FooData, FooFields …, a group foo makes FooGroup.
DERIVED_CLASSES: Final = ("Manager", "Data", "Fields", "Values", "GroupedData", "Columns", "Ref")

# --- fields, and the kernels and reductions that become methods beside their accessors ------

FIELD_GROUPS: Final[dict[str, frozenset[str]]] = {
    "methods of managers": _words(
        "create create_many ensure lookup lookup_many require require_many has has_many destroy "
        "destroy_many remove remove_many entity entities row data capacity nbytes reserve seed "
        "wrap near nearby ghosts shrink_to_fit clear sort reorder version locked LAYOUT "
        "LAYOUT_COLD FIELDS"
    ),
    "methods of policies": _words(
        "gc collect on_release first next previous instances count count_many id_of id_of_many "
        "resolve resolve_many destroy_id destroy_id_many n_active activate deactivate "
        "activate_many deactivate_many is_active parent first_child next_sibling previous_sibling "
        "children roots levels parent_many parents by_age"
    ),
    "attributes of `data`": _words(
        "n allocated buffer entity tagged present active cold hot row rows slot to_arrow OBJECTS"
    ),
    "methods of named tuples": frozenset(("count", "index")),
    "parameters and modules in generated code": _words("self rows entities columns np"),
    "functions that creations call": _words(
        "as_entities beyond_reserve copied_if_view count_differing duplicate_instance "
        "first_present first_repeated grown_capacity grown_map locked_in_group present_row "
        "row_in_use rows_spanned unshared whole_count without_views worn_out"
    ),
    "functions that kernels call": _words(
        "added as_integers averaged draw_normal draw_random draw_range draw_stems ids_of largest "
        "living_id_rows living_rows living_table other_cells planes put_where rows_below "
        "rows_last rows_of_living smallest take_others turn_order"
    ),
    "columns that are no fields": _words("cold_row id_slot id_row id_generation newer older"),
    "decorators in generated code": _words("contextmanager overload property"),
    "builtins that generated code uses": _words(
        "bool int float str bytes object tuple list dict set slice len range super "
        "memoryview isinstance next iter zip"
    ),
}
# A field `id` has no accessor by entity: its name is that of a method.
OWN_ACCESSORS: Final = frozenset(("id_of",))
# Annotations in a class body would find the field's accessor instead of the class.
RESERVED_FIELD_NAMES: Final = (
    frozenset().union(*FIELD_GROUPS.values()) | RESERVED_CLASS_NAMES | KEYWORDS
)
RESERVED_PREFIXES: Final = ("set_",)
_HOLDERS: Final = {
    "managers have": ("methods of managers", "methods of policies"),
    "`data` has": ("attributes of `data`",),
    "rows have": ("methods of named tuples",),
}
"""Whose public names they are, for messages."""

# --- what becomes an attribute of the world or a module -------------------------------------

WORLD_NAMES: Final = _words(
    "entities spawn destroy destroy_many destroy_later flush gc collect components "
    "empty_entities signature signatures archetypes create get save load to_bytes FINGERPRINT "
    "MANAGERS QUERIES GROUPS BUNDLES self n np seed"
)
WORLD_PREFIXES: Final = ("spawn_",)

MODULE_GROUPS: Final[dict[str, frozenset[str]]] = {
    "modules of the generated package": _words("entities enums world tests conftest runtime"),
    "attributes of the world, of groups, queries and chunks": WORLD_NAMES
    | frozenset(
        (
            *("entity", "rows", "sort", "reorder", "count", "index", "buffer", "capacity"),
            *("has", "to_arrow"),
        )
    ),
    "methods of views of entities": frozenset(("add", "remove")),
    "functions that the world calls": frozenset(("known_fields", "unknown_component")),
    "builtins that the world uses as well": FIELD_GROUPS["builtins that generated code uses"],
    "names of devices on Windows": _words("aux con nul prn").union(
        f"{port}{digit}" for port in ("com", "lpt") for digit in range(1, 10)
    ),
}
RESERVED_MODULE_NAMES: Final = frozenset().union(*MODULE_GROUPS.values()) | KEYWORDS

# --- members of enums -----------------------------------------------------------------------

RESERVED_MEMBER_NAMES: Final = (
    _words(
        "name value mro as_integer_ratio bit_count bit_length conjugate denominator from_bytes "
        "imag is_integer numerator real to_bytes"
    )
    | KEYWORDS
)

IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LOWER: Final = re.compile(r"[a-z][a-z0-9_]*")
CAMEL: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def query_classes(name: str) -> tuple[str, str, str]:
    """The classes that a query makes: `fast_movers` → FastMoversQuery, …Rows, …Row."""
    stem = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"{stem}Query", f"{stem}Rows", f"{stem}Row"


def module_name(name: str) -> str:
    """`PointMass` → `point_mass`, `AIState` → `ai_state`."""
    return _WORD_START.sub("_", name).lower()


def group_class(group: str) -> str:
    """`bodies` → `BodiesGroup`."""
    return "".join(word.capitalize() for word in group.split("_")) + "Group"


def check_identifier(
    name: str, what: str, mark: Mark, diagnostics: Diagnostics, *, lower: bool = False
) -> bool:
    """Whether `name` can be an attribute; reports E101. `lower` wants it in lower case."""
    pattern, rule = (_LOWER, "lower-case letters") if lower else (IDENTIFIER, "letters")
    if pattern.fullmatch(name):
        return _check_length(name, what, mark, diagnostics)
    rule = f"must be {rule}, digits and underscores"
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name)
    _report_name(name, what, rule, mark, diagnostics, module_name(plain) if lower else plain)
    return False


def check_class(name: str, what: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    """Whether `name` can be a component, enum or world; reports E101 and E102."""
    if not check_camel(name, what, mark, diagnostics):
        return False
    return not _reserved(name, what, RESERVED_CLASS_NAMES, (), mark, diagnostics)


def check_camel(name: str, what: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    """Whether `name` is, or could once have been, the name of a class; reports E101."""
    if not CAMEL.fullmatch(name):
        hint = _camel_case(name)
        _report_name(name, what, "must be CamelCase letters and digits", mark, diagnostics, hint)
        return False
    return _check_length(name, what, mark, diagnostics)


def check_module(name: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    """Whether a component's module may be called as it would be; reports E102."""
    module = module_name(name)
    if module in RESERVED_MODULE_NAMES or module.startswith((*WORLD_PREFIXES, "test_")):
        message = f"the component {quote(name)} would make {quote(module)}, which is reserved"
        diagnostics.add("E102", message, mark)
        return False
    return True


def check_member(
    name: str,
    what: str,
    mark: Mark,
    diagnostics: Diagnostics,
    *,
    reserved: frozenset[str] = RESERVED_FIELD_NAMES,
    prefixes: tuple[str, ...] = RESERVED_PREFIXES,
    lower: bool = False,
) -> bool:
    """Whether `name` can be an attribute beside generated ones; reports E101 and E102."""
    if not check_identifier(name, what, mark, diagnostics, lower=lower):
        return False
    return not _reserved(name, what, reserved, prefixes, mark, diagnostics)


def _reserved(
    name: str,
    what: str,
    reserved: frozenset[str],
    prefixes: tuple[str, ...],
    mark: Mark,
    diagnostics: Diagnostics,
) -> bool:
    if name in KEYWORDS or name in reserved:
        message = f"{quote(name)} cannot be the name of {what}: {_whose(name)}"
        is_class = reserved is RESERVED_CLASS_NAMES  # those have no underscores
        hint = "" if is_class else f"did you mean {quote(f'{name}_')}?"
        diagnostics.add("E102", message, mark, hint=hint)
        return True
    for prefix in prefixes:
        if name.startswith(prefix):
            message = f"{quote(name)} cannot be the name of {what}: the prefix {prefix!r} is taken"
            diagnostics.add("E102", message, mark)
            return True
    return False


def _whose(name: str) -> str:
    """Who has a reserved name."""
    if name in KEYWORDS:
        return "it is a Python keyword"
    for holder, groups in _HOLDERS.items():
        if any(name in FIELD_GROUPS[group] for group in groups):
            return f"{holder} {quote(name)}"
    return "generated code uses it"


def _check_length(name: str, what: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    if len(name) <= MAX_LENGTH:
        return True
    message = f"the name of {what} has {len(name)} characters; {MAX_LENGTH} are allowed"
    diagnostics.add("E101", message, mark)
    return False


def _report_name(
    name: str, what: str, rule: str, mark: Mark, diagnostics: Diagnostics, suggestion: str = ""
) -> None:
    odd = next((char for char in name if not char.isascii()), "")
    if odd:
        letter = unicodedata.name(odd, f"U+{ord(odd):04X}")
        rule = f"has {quote(odd)} ({letter}), which is not ASCII"
        suggestion = unicodedata.normalize("NFKC", name)
    elif name.startswith("_"):
        rule = "begins with an underscore"
        suggestion = name.strip("_")
    message = f"{quote(name)} cannot be the name of {what}: it {rule}"
    usable = suggestion != name and IDENTIFIER.fullmatch(suggestion) is not None
    hint = f"did you mean {quote(suggestion)}?" if usable else ""
    diagnostics.add("E101", message, mark, hint=hint)


def _camel_case(name: str) -> str:
    words = re.split(r"[^A-Za-z0-9]+", name)
    return "".join(word[:1].upper() + word[1:] for word in words)
