"""What schemas say of the past, so that what an older version saved can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Names = Mapping[str, str]
"""Former name → present name, or "" for what is gone."""


@dataclass(frozen=True, slots=True)
class History:
    """All former names. Those of fields and members begin with the present name of what they were
    in: `Body.velocity`."""

    version: int = 0  # the world's, a number of the user's own
    components: Names = field(default_factory=dict)
    enums: Names = field(default_factory=dict)
    fields: Names = field(default_factory=dict)
    members: Names = field(default_factory=dict)

    @property
    def renames(self) -> dict[str, dict[str, str]]:
        """The same by kind, sorted, as `RENAMES` has it."""
        kinds = ("components", "enums", "fields", "members")
        return {kind: dict(sorted(getattr(self, kind).items())) for kind in kinds}

    def fields_of(self, component: str) -> Names:
        """Return the former names of a component's fields."""
        return _inside(self.fields, component)

    def members_of(self, enum: str) -> Names:
        """Return the former names of an enum's members."""
        return _inside(self.members, enum)


def _inside(names: Names, owner: str) -> dict[str, str]:
    split = ((*former.split("."), now) for former, now in names.items())
    return {former: now for whose, former, now in split if whose == owner}
