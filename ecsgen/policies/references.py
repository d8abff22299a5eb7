"""on_delete: what becomes of a row when the entity dies that a field of it refers to."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from ecsgen.model import BaseType, Component, FieldType
from ecsgen.policies.policy import Key, Policy, Refusal

OnDelete: TypeAlias = Literal["keep", "clear", "cascade"]


def _reject(component: Any, field: Any, type_: FieldType) -> Refusal | None:
    if type_.base is not BaseType.ENTITY or type_.shape:
        return Refusal(f"it is of type {type_.text}", "type", is_of_field=True)
    if field.on_delete == "clear" and field.unique:
        return Refusal("fields that are cleared would be equal, and it is unique", "unique", True)
    if field.on_delete != "keep" and component.destroy == "manual":
        return Refusal("only calls remove rows by 'destroy: manual'", "destroy", False)
    return None


KEY: Final[Key[OnDelete]] = Key(
    name="on_delete",
    of="field",
    annotation=OnDelete,
    default="keep",
    off="keep",
    help="The row's fate when the entity dies that the field refers to. `keep`: nothing. "
    "`clear`: the field becomes 0. `cascade`: the row goes. When: as `destroy` says of owners.",
    adjective="subject to 'on_delete'",
    reject=_reject,
    refusal="E526",
    is_attribute=True,
)


def _settings(component: Component) -> str:
    on_delete = (f'"{name}": {effect == "cascade"}' for name, effect in component.on_delete.items())
    return f"ON_DELETE: ClassVar = {{{', '.join(on_delete)}}}"


def _applies(destroy: str, owner: str) -> Callable[[Component], bool]:
    return lambda c: bool(c.on_delete) and (c.destroy, c.owner) == (destroy, owner)


COLLECTED = Policy(
    name="collected_references",
    keys=(KEY,),
    applies=_applies("gc", "entity"),
    order=-6,  # before what removes the rows of the dead
    manager_base="CollectedReferences",
    step_code={"settings": _settings},
)
FOLLOWED = replace(
    COLLECTED,
    name="followed_references",
    keys=(),
    applies=_applies("callback", "entity"),
    manager_base="FollowedReferences",
)
UNOWNED_COLLECTED = replace(
    COLLECTED, name="unowned_collected", keys=(), applies=_applies("gc", "none")
)
UNOWNED_FOLLOWED = replace(
    FOLLOWED,
    name="unowned_followed",
    applies=_applies("callback", "none"),
    manager_base="UnownedReferences",
)

POLICIES = (COLLECTED, FOLLOWED, UNOWNED_COLLECTED, UNOWNED_FOLLOWED)
