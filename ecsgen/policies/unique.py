"""unique: no two rows have the same value of a field, and a dict tells the row of each value."""

from ecsgen.model import Component
from ecsgen.policies.policy import Policy


def _settings(component: Component) -> str:
    """What is displaced by a creation is in nobody's way; a map of whole handles displaces none."""
    is_indexed = component.owner == "entity" and component.lookup != "hash"
    return "_DISPLACES: ClassVar = True" if is_indexed else ""


UNIQUE = Policy(
    name="unique",
    applies=lambda c: any(field.unique for field in c.fields),
    order=-10,  # refuses values before anything is allocated
    base="Unique",
    sharded_base="ShardedUnique",
    rows="UniqueRows",
    row_state=("_indexes",),
    raises=("DuplicateValueError: another row has the value of a unique field.",),
    template=True,
    calls={
        "settings": _settings,
        "appended_one": "data._enter_value(row)",
        "appended_many": "data._enter_values(rows)",
        "removing_one": "data._forget_value(row)",
        "moved_one": "data._enter_value(dst)",
    },
)

POLICIES = (UNIQUE,)
