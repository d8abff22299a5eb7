"""Names: their syntax, the names that are derived from them, and the reserved ones.

Public names of generated packages are reserved. No other name is: a schema's name may shadow one of
generated code's own. The lists do not depend on a component's policies, so switching a policy on
never breaks a name.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Mark

Names = dict[str, frozenset[str]]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIELD_NAMES: Final[Names] = {
    "managers have": _words(
        "create create_many ensure lookup lookup_many require require_many has has_many destroy "
        "destroy_many remove remove_many entity row rows data capacity nbytes reserve "
        "shrink_to_fit clear sort reorder version locked LAYOUT LAYOUT_COLD FIELDS "
        "gc collect on_release first next previous instances count count_many id_of id_of_many "
        "resolve resolve_many destroy_id destroy_id_many n_active activate deactivate "
        "activate_many deactivate_many is_active parent first_child next_sibling previous_sibling "
        "children roots levels parent_many parents set_parent set_parent_many by_age seed wrap "
        "near nearby ghosts grid settings changes on_add links_of"
    ),
    "`data` has": _words(
        "n allocated buffer entity tagged decoded to_arrow present active cold row FIELDS LAYOUT "
        "MANAGER OBJECTS ROW_BYTES"
    ),
    "the library calls": _words(
        "ALLOWS_MANY are_all_alive BULK CAN_ACCELERATE capacity_for CELL_CAPACITY CELL_FIELD "
        "cell_has_capacity cell_of_id cells_now check_row_values clear_objects COLD CONVERTERS "
        "create_checked DESPAWNS_OWNERS destroy_rows drop_row_caches empty_objects ENTITIES "
        "evict_and_append extra_arrays first_invalid_cell first_rows grid_layout HAS_ORDER "
        "HAS_RELEASE_CALLBACKS held_rows HOOD ids_by_row ids_in json_state lie_smallest is_held "
        "load_json_state MAX_ROWS MEMBER objects_of order_rows prepare_columns PARTS READ_ONLY "
        "REMOVE_HOOKS remove_rows_one_by_one reserve_rows ROW ROWS row_keys row_keys_version "
        "rows_from rows_of_many saved_columns saved_numbers saved_objects set_ids shown_rows "
        "subtables take_cold_row take_columns take_objects takes_small_batch with_descendants "
        "without_holes end_entities ENDS IS_MUTUAL link_index link_stamp "
        "links_by_slot added_rows announce_added HAS_ADD_CALLBACKS has_add_listeners has_few_rows "
        "rows_by_values cold_cells"
    ),
    "managers keep a column": _words("cold_row id_slot id_row id_generation newer older"),
}
"""Names reserved among fields, kernels, reductions and arguments."""

LOCAL_NAMES: Final[Names] = {"kernels have": _words("entity self settings")}
"""Names reserved among locals, beside those that the kernel itself names."""

CLASS_NAMES: Final[Names] = {
    "packages have": _words(
        "ArchetypeChunk Archetypes BrokenManagerError CapacityError ChangeReader Changes Draws "
        "DuplicateInstanceError DuplicateValueError EcsError Entity EntityArray EntityManager "
        "EntityView FieldInfo FullCellError HierarchyError Id Instance Links "
        "MissingInstanceError NIL NULL_ENTITY Neighbours RowArray Settings Signature Snapshot "
        "SnapshotError SnapshotTable StaleEntityError StaleIdError StaleInstanceError "
        "StaleViewWarning StructureLockedError Sweep World sweep"
    ),
    "the library calls": _words("COLD CONVERTERS ENTITIES PARTS ROW ROWS"),
}
"""Names reserved among components, enums and worlds."""

WORLD_NAMES: Final[Names] = {
    "worlds have": _words(
        "entities spawn destroy destroy_many destroy_later flush gc collect components "
        "empty_entities signature signatures archetypes create get save load to_bytes FINGERPRINT "
        "provenance MANAGERS QUERIES GROUPS BUNDLES seed tick records settings"
    ),
    "the library calls": _words(
        "all_managers archetype_store BUNDLE_VALUES CAN_ACCELERATE CHUNKED collecting_managers "
        "json_state load_json_state MANAGER_CLASSES noted_entities ownerless_hint READ_ONLY "
        "remove_rows_one_by_one rollback_spawn STAYS"
    ),
}
"""Names reserved among queries, groups, kernels and schedules of the world."""

SETTING_NAMES: Final[Names] = {"settings have": _words("FIELDS")}
"""Names reserved among settings."""

MODULES: Final = "packages have a module"
TEST_PREFIX: Final = "test_"
"""The prefix of further modules."""

DEVICES: Final[Names] = {
    "Windows has a device": _words("aux con nul prn").union(
        f"{port}{digit}" for port in ("com", "lpt") for digit in range(1, 10)
    )
}
"""Names reserved among tables, which are folders."""

MODULE_NAMES: Final[Names] = {
    **WORLD_NAMES,
    MODULES: _words("entities enums world tests conftest"),
    **DEVICES,
}
"""Names reserved among modules of components, which are attributes of the world."""

MEMBER_NAMES: Final[Names] = {
    "enums of Python have": _words(
        "name value mro as_integer_ratio bit_count bit_length conjugate denominator from_bytes "
        "imag is_integer numerator real to_bytes"
    )
}
"""Names reserved among members of enums."""

COLUMN_NAMES: Final[Names] = {
    "tables have": _words("tick entity id columns write clear to_arrow to_pandas"),
    "tables of rows say": _words("rows fields where over"),
}
"""Names reserved among columns of tables."""

QUERY_NAMES: Final[Names] = {"queries have": _words("chunks rows to_arrow")}
GROUP_NAMES: Final[Names] = {"groups have": _words("entity n reorder sort to_arrow")}
CHUNK_NAMES: Final[Names] = {"chunks have": _words("buffer capacity components entity has n")}
"""Names reserved among modules of components in queries, groups and archetypes."""


MAX_LENGTH: Final = 64

# Equal in every Python that ecsgen runs on.
KEYWORDS: Final = frozenset(keyword.kwlist)

# A component named Foo also makes FooManager, FooData, FooFields …, a group foo makes FooGroup.
DERIVED_CLASSES: Final = ("Manager", "Data", "Fields", "Values", "GroupedData", "Columns", "Ref")

IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LOWER: Final = re.compile(r"[a-z][a-z0-9_]*")
CAMEL: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def query_classes(name: str) -> tuple[str, str, str]:
    """Return the classes of a query: `fast_movers` → FastMoversQuery, …Rows, …Row."""
    prefix = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"{prefix}Query", f"{prefix}Rows", f"{prefix}Row"


def module_name(name: str) -> str:
    """Return the module of a component: `PointMass` → `point_mass`, `AIState` → `ai_state`."""
    return _WORD_START.sub("_", name).lower()


def group_class(group: str) -> str:
    """Return the class of a group: `bodies` → `BodiesGroup`."""
    return "".join(word.capitalize() for word in group.split("_")) + "Group"


def settings_class(world: str) -> str:
    """Return the class of a world's settings: `Game` → `GameSettings`."""
    return "Settings" if world == "World" else f"{world}Settings"


def check_identifier(
    name: str, what: str, mark: Mark, diagnostics: Diagnostics, *, lower: bool = False
) -> bool:
    """Return True if `name` can be an attribute, with `lower` in lower case; reports E101."""
    pattern, rule = (_LOWER, "lower-case letters") if lower else (IDENTIFIER, "letters")
    if pattern.fullmatch(name):
        return _check_length(name, what, mark, diagnostics)
    rule = f"must be {rule}, digits and underscores"
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name)
    _report_name(name, what, rule, mark, diagnostics, module_name(plain) if lower else plain)
    return False


def check_class(name: str, what: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    """Return True if `name` can be a component, enum or world; reports E101 and E102."""
    if not check_camel(name, what, mark, diagnostics):
        return False
    return not check_derived_name(name, name, what, CLASS_NAMES, mark, diagnostics)


def check_camel(name: str, what: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    """Return True if `name` can be a class, now or in former schemas; reports E101."""
    if not CAMEL.fullmatch(name):
        hint = _camel_case(name)
        _report_name(name, what, "must be CamelCase letters and digits", mark, diagnostics, hint)
        return False
    return _check_length(name, what, mark, diagnostics)


def check_module(name: str, mark: Mark, diagnostics: Diagnostics, taken: Names) -> bool:
    """Return True if a component's module can have its name; reports E102."""
    return not check_derived_name(module_name(name), name, "a component", taken, mark, diagnostics)


def check_member(
    name: str,
    what: str,
    mark: Mark,
    diagnostics: Diagnostics,
    *,
    taken: Mapping[str, frozenset[str]] = FIELD_NAMES,
    lower: bool = False,
) -> bool:
    """Return True if `name` can be an attribute beside generated ones; reports E101 and E102.

    `taken`: reserved names by their holder.
    """
    if not check_identifier(name, what, mark, diagnostics, lower=lower):
        return False
    return not check_derived_name(name, name, what, taken, mark, diagnostics)


def check_derived_name(
    derived: str,
    name: str,
    what: str,
    taken: Mapping[str, frozenset[str]],
    mark: Mark,
    diagnostics: Diagnostics,
) -> bool:
    """Return True if the name derived from `name` is reserved or a keyword; reports E102."""
    reason = "it is a Python keyword" if derived in KEYWORDS else ""
    for holder, names in taken.items():
        if derived in names or (holder == MODULES and derived.startswith(TEST_PREFIX)):
            reason = f"{holder} {quote(derived)}"
    if not reason:
        return False
    makes = "" if derived == name else f"it makes {quote(derived)}, and "
    message = f"{quote(name)} cannot be the name of {what}: {makes}{reason}"
    is_class = derived != name or taken is CLASS_NAMES
    suggestion = f"My{name}" if is_class else f"{name}_"
    diagnostics.add("E102", message, mark, hint=f"did you mean {quote(suggestion)}?")
    return True


def _check_length(name: str, what: str, mark: Mark, diagnostics: Diagnostics) -> bool:
    if len(name) <= MAX_LENGTH:
        return True
    message = f"the name of {what} has {len(name)} characters; {MAX_LENGTH} are allowed"
    diagnostics.add("E101", message, mark)
    return False


def _report_name(
    name: str, what: str, rule: str, mark: Mark, diagnostics: Diagnostics, suggestion: str
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
