"""The public names of generated packages, by who has them: nothing of a schema can be called so.

No other name is reserved: where a schema's name meets one of generated code's own, that gives way.
The lists do not depend on a component's policies, so switching a policy on never breaks a name.
"""

from __future__ import annotations

from typing import Final

from ecsgen.schema.taken import EXPORTED

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
        "near nearby ghosts"
    ),
    "`data` has": _words(
        "n allocated buffer entity tagged decoded to_arrow present active cold row FIELDS LAYOUT "
        "MANAGER OBJECTS ROW_BYTES"
    ),
    "managers keep a column": _words("cold_row id_slot id_row id_generation newer older"),
}
"""Of fields, kernels, reductions and arguments."""

CLASS_NAMES: Final[Names] = {"packages have": _words(EXPORTED)}
"""Of components, enums and worlds."""

WORLD_NAMES: Final[Names] = {
    "worlds have": _words(
        "entities spawn destroy destroy_many destroy_later flush gc collect components "
        "empty_entities signature signatures archetypes create get save load to_bytes FINGERPRINT "
        "MANAGERS QUERIES GROUPS BUNDLES seed"
    )
}
"""Of queries, groups, kernels and schedules of the world."""

MODULES: Final = "packages have a module"
TEST_PREFIX: Final = "test_"
"""Of further modules."""

MODULE_NAMES: Final[Names] = {
    **WORLD_NAMES,
    MODULES: _words("entities enums world tests conftest"),
    "Windows has a device": _words("aux con nul prn").union(
        f"{port}{digit}" for port in ("com", "lpt") for digit in range(1, 10)
    ),
}
"""Of the modules of components, which are attributes of the world."""

MEMBER_NAMES: Final[Names] = {
    "enums of Python have": _words(
        "name value mro as_integer_ratio bit_count bit_length conjugate denominator from_bytes "
        "imag is_integer numerator real to_bytes"
    )
}
"""Of members of enums."""

QUERY_NAMES: Final[Names] = {"queries have": _words("chunks rows to_arrow")}
GROUP_NAMES: Final[Names] = {"groups have": _words("entity n reorder sort to_arrow")}
CHUNK_NAMES: Final[Names] = {"chunks have": _words("buffer capacity components entity has n")}
"""Of the modules of components that are members of these."""
