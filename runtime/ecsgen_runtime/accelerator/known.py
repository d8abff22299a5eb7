"""Which methods the layer knows, by the names that their code uses.

A function in C does all that the generated method does in its usual case. So a method with a step
that is not known here, of a policy that came later or is rare, must be left alone; a step shows as
a name in the method's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any, Final, TypeAlias

Kind: TypeAlias = Any
"""A generated class, with the attributes that its package gives it."""

_ROW: Final = "data type int _n _row _entity_cells Instance"
_ENTITY: Final = "type int Entity index INDEX_MASK IndexError NIL data"
_LOCK: Final = "_locks _locked _refuse_locked"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


GETTER: Final = _names(f"{_ROW} unpack_from str bytes ljust nested map")
PLACE: Final = _names("_cut _cut_items cells reshape np NDArray Any memoryview")
SETTER: Final = _names(f"{_ROW} one pack_into")
_BY_KEY: Final = "NIL type __name__ LateRow PLAIN is_plain_tuple"
BY_ENTITY: Final = _names(f"{_BY_KEY} lookup missing require")
BY_ID: Final = _names(f"{_BY_KEY} resolve stale_id partial resolved")
CREATE: Final = _names(f"""
    index one Exception BaseException _entities _cells require IndexError INDEX_MASK NIL
    data _n _allocated _grow _version _break {_LOCK} MANAGER duplicate_instance _entity_cells
    _sparse_cells _sparse grown_map _set_map _evict _dispatch create _make_way
    _rows get
    _others _join_group
    _link_row
    worn_out
    _take_slot _slots _peak _id_slot_cells _id_row_cells _id_generation_cells Id SLOT_BITS
    _n_active _move Instance
    NULL_ENTITY _count _destroy_row
    pack_into
    _below _attached _create_below rows _parent_cells _first_child_cells _next_sibling_cells
    _previous_sibling_cells
    """)
DESTROY_ROW: Final = _names("""
    data _n _version _break BaseException _entity_cells NIL INDEX_MASK Instance
    _released entries _destroy_told
    _sparse_cells _rows
    _n_grouped _others _leave_group _move
    _unlink_row _relink_row
    _id_slot_cells _id_row_cells _give_slot
    _n_active
    _end_below _count NULL_ENTITY
    _leave_parent _relink_family _release_children _destroy_rows np array
    """)

CREATE_MANY: Final = _names("_create_many _create_children NIL")
CREATE_MANY_STEPS: Final = {
    "_create_many": "_with_table few_numbers _create_few _check_names as_entities len _convert "
    "Exception _entities require_many _require_handles _locks _locked _admit_many _make_room "
    "values np empty intp _own_entities _own _RELEASES _dispatch run _replace "
    "_refuse_locked",
}

INHERITED: Final[tuple[tuple[str, str, str, str], ...]] = (
    (
        "lookup",
        "lookup",
        "Sparse Hash Direct",
        f"{_ENTITY} _sparse_cells _entity_cells _rows get _n",
    ),
    ("first", "lookup", "Many", "lookup"),
    ("has", "has", "Owned", "lookup NIL"),
    ("__contains__", "has", "Owned Hash", "is_integer lookup Entity index NIL _rows"),
    ("__contains__", "has_id", "Unowned", "is_integer resolve Id index NIL"),
    ("require", "require", "Owned", "lookup NIL missing type __name__"),
    (
        "remove",
        "remove",
        "Sparse Hash Direct Many",
        f"{_ENTITY} {_LOCK} _sparse_cells _entity_cells _destroy_row _rows get _n len "
        "lookup _previous_cells _destroy_rows _rows_with",
    ),
    (
        "lookup_many",
        "lookup_many",
        "Sparse",
        "few_numbers lookup np array intp as_entities data _entity_column _n "
        "sparse_lookup _sparse",
    ),
    (
        "remove_many",
        "remove_many",
        "Owned",
        f"{_LOCK} few_numbers _single_rows _destroy_few len _destroy_rows "
        "_rows_of_many as_entities",
    ),
    ("destroy", "destroy", "Packed Direct", f"{_ROW} {_LOCK} _destroy_row"),
    ("entity", "entity", "Mapped Direct", _ROW),
    (
        "id_of",
        "id_of",
        "Ids DirectIds",
        f"{_ROW} _id_slot_cells Id _id_generation_cells SLOT_BITS",
    ),
    (
        "resolve",
        "resolve",
        "Ids DirectIds",
        f"{_ENTITY} _n _entity_cells Id Instance SLOT_MASK SLOT_BITS _peak "
        "_id_generation_cells _id_row_cells",
    ),
    (
        "destroy_id",
        "destroy_id",
        "IdCalls",
        f"resolve NIL stale_id type __name__ {_LOCK} _destroy_row",
    ),
    ("next", "next", "Many", f"{_ROW} _next_cells"),
    ("previous", "previous", "Many", f"{_ROW} _previous_cells _next_cells NIL"),
)
"""Inherited methods: the name, the function in C, the policies whose method it stands for, and the
names that this may use."""

NEEDED: Final = {
    "remove": ("_destroy_row", "lookup"),
    "destroy": ("_destroy_row",),
    "destroy_id": ("_destroy_row", "resolve"),
    "lookup": ("lookup",),
    "lookup_many": ("lookup",),
    "remove_many": ("remove", "lookup"),
    "create_many": ("create", "lookup"),
    "has": ("lookup",),
    "has_id": ("resolve",),
    "get_of": ("lookup",),
    "set_of": ("lookup",),
    "get_of_id": ("resolve",),
    "set_of_id": ("resolve",),
    "require": ("lookup",),
}
"""Methods that those with a function in C call, and that must have one, too."""

ENTITIES: Final[dict[str, tuple[str, str]]] = {
    "alive": ("alive", "type int operator index _cells INDEX_MASK IndexError"),
    "__contains__": ("alive", "alive"),
    "require": (
        "require",
        "type int operator index _cells INDEX_MASK IndexError dead_entity",
    ),
    "create": (
        "create",
        "_free _n_used count MIN_FREE INDEX_COUNT CapacityError _n_retired pop _cells "
        "BaseException break_down _n_cells _grow ONE_GENERATION",
    ),
    "destroy": (
        "destroy",
        "type int operator index INDEX_MASK _cells IndexError dead_entity dispatch depth "
        "_callbacks entries _destroy_one Entity _free_index",
    ),
}

ENTITY_STEPS: Final = {
    "destroy": {
        "_free_index": "LAST_GENERATION _n_retired _cells _free push ONE_GENERATION MemoryError "
        "BaseException break_down",
        "_destroy_one": "dispatch depth queue append only _callbacks check _free_index tell "
        "run_one is_open run _die",
        "_die": "dispatch tell iter _callbacks entries _free_index run_one BaseException "
        "is_broken _cells errors extend flattened",
    },
}
"""Methods that a method calls, which its function in C stands for, too, and their names."""

DEATH_STEPS: Final = {
    "destroy": {
        "check": "entries type _FollowerEntry follower _locks _before_destroy",
        "run_one": "entries type _FollowerEntry follower remove is_active only function "
        "BaseException errors extend flattened _tell iter _is_final mend",
    },
}
"""Likewise, of the list of those that are told of deaths."""

DISPATCH_STEPS: Final = {
    "destroy": {
        "tell": "running errors",
        "run": "depth _is_run_below sys _getframe running BaseException queue empty_queue errors "
        "append _leaving clear",
        "is_open": "depth _is_run_below sys _getframe",
    },
}
"""Likewise, of what gathers the failures of callbacks."""

_SPAWN_STEPS: Final = {
    "_spawn": "type int entity_count items entities create_many FEW _left _few _spawn_few _checked "
    "values extend isinstance tuple _spawn_parts _spawn_one",
    "_spawn_one": "_managers items get type dict _takes_few are_cells _CONVERTERS append create "
    "extend starmap ONCE isinstance entities CapacityError BaseException _take_back np array "
    "uint64",
    "_few": "items _managers get type dict _takes_few few_values _CONVERTERS append create",
    "_spawn_few": "extend starmap ONCE entities create _are_few_new _create_rows BaseException "
    "_take_back np array uint64 _uncreate",
}
_CREATE_STEPS: Final = {
    "_create_plain": "_managers get type _takes_few given_fields _CONVERTERS Exception create len "
    "extend starmap ONCE "
    "entities CapacityError values BaseException _take_back np array uint64 isinstance",
}

_COLLECT_STEPS: Final = {
    "_flush": "getattr len _few_doomed FEW _doomed entities destroy_many _destroy_few dispatch "
    "depth is_open",
    "_few_doomed": "entities alive type int append",
    "_removed": "sum _collecting remove_many _locks _locked _refuse_locked",
    "_collected": "entities dispatch errors extend _swept _removed queue _kills empty_queue",
}

WORLDS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "spawn": ("unknown_component spawn _spawn", _SPAWN_STEPS),
    "create": (
        "_create_plain _by_class len items columns_of _spawn _spawn_parts _new_parts Entity int",
        _SPAWN_STEPS | _CREATE_STEPS,
    ),
    "destroy_later": ("_noted AttributeError extend type int _notes", {}),
    "collect": (
        "entities _deaths _clean _flush BaseExceptionGroup exceptions dispatch errors extend type "
        "list len _removed _swept depth queue _kills is_open run _collected",
        _COLLECT_STEPS,
    ),
}
"""Of worlds: the names that a method may use, besides row classes, and those of its steps."""

_CONSTANT: Final = re.compile(r"_?[A-Z][A-Z0-9_]*")
_CELLS: Final = ("cells", "column", "words", "items", "flat")


def static(kind: Kind, name: str) -> Any:
    """Return an attribute as it stands in the class or its bases, None if there is none."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def attributes(kind: Kind) -> dict[str, Any]:
    """Return all attributes as they stand in a class and its bases: quicker for very many."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found.update(vars(base))
    return found


def uses_only(
    method: FunctionType, known: Iterable[str], columns: Iterable[str] = ()
) -> bool:
    """Return whether a method's code uses known names only, constants and columns apart."""
    unknown = set(method.__code__.co_names).difference(known)
    unknown -= {f"_{column}_{cells}" for column in columns for cells in _CELLS}
    return all(_CONSTANT.fullmatch(name) for name in unknown)


def knows_steps(owner: Any, steps: dict[str, str]) -> bool:
    """Return whether methods of a class use known names only, each its own.

    Packages of other versions may lack a step: then no other one has its name.
    """
    found = {step: static(owner, step) for step in steps}
    return all(
        isinstance(method, FunctionType) and uses_only(method, steps[step].split())
        for step, method in found.items()
        if method is not None
    )
