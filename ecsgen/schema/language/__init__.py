"""The schema language: one definition validates, makes the JSON Schema and the reference page.

What pydantic can't say (names, field types, keys that contradict each other) comes after it.
"""

from typing import Any, Final

from ecsgen.schema.forms import Strict
from ecsgen.schema.language.component_keys import ComponentSpec, EnumSpec
from ecsgen.schema.language.world_keys import WorldSpec
from ecsgen.schema.names import IDENTIFIER

KINDS: Final[dict[str, type[Strict]]] = {
    "component": ComponentSpec,
    "enum": EnumSpec,
    "world": WorldSpec,
}


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one document, for editors: chosen by its kind key."""
    from pydantic import TypeAdapter  # not needed for validating

    adapter: TypeAdapter[Any] = TypeAdapter(ComponentSpec | EnumSpec | WorldSpec)
    made = adapter.json_schema(by_alias=True)
    definitions = _with_names(made["$defs"])
    chosen: dict[str, Any] = {"required": [next(iter(KINDS))]}
    for kind, model in reversed(KINDS.items()):
        then = {"$ref": f"#/$defs/{model.__name__}"}
        chosen = {"if": {"required": [kind]}, "then": then, "else": chosen}
    kinds = {kind: definitions[m.__name__]["properties"][kind] for kind, m in KINDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ecsgen schema",
        "type": "object",
        "properties": {kind: {"description": made["description"]} for kind, made in kinds.items()},
        **chosen,
        "$defs": definitions,
    }


def _with_names(schema: Any) -> Any:
    """A schema in which the keys of all mappings of one's own are identifiers."""
    if isinstance(schema, list):
        return [_with_names(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _with_names(part) for key, part in schema.items()}
    if isinstance(schema.get("additionalProperties"), dict):
        found["propertyNames"] = {"pattern": f"^{IDENTIFIER.pattern}$"}
    return found
