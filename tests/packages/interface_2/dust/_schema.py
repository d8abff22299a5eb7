"""What a snapshot says of the schemas, and what their names were before."""

from typing import Final

SCHEMA: Final = (
    '{"version":0,"entity":{"index_bits":32,"generation_bits":32},'
    '"enums":{},'
    '"components":{"Bond":{"module":"bond","in":"managers","owner":"entity",'
    '"instances":"many","lookup":"sparse","destroy":"callback","ids":true,'
    '"partition":"","hierarchy":"","cold":"inline","fields":{'
    '"strength":{"type":"f64","default":0.0,"cold":false,"split":false,"unit":""},'
    '"to":{"type":"entity","default":0,"cold":false,"split":false,"unit":""}}},'
    '"Mote":{"module":"mote","in":"managers","owner":"entity","instances":"one",'
    '"lookup":"sparse","destroy":"gc","ids":false,"partition":"","hierarchy":"",'
    '"cold":"inline","fields":{'
    '"mass":{"type":"f32","default":1.0,"cold":false,"split":false,"unit":"kg"},'
    '"position":{"type":"f32[3]","default":[0.0,0.0,0.0],"cold":false,"split":false,'
    '"unit":""},'
    '"velocity":{"type":"f32[3]","default":[0.0,0.0,0.0],"cold":false,"split":false,'
    '"unit":""},'
    '"label":{"type":"str[8]","default":"","cold":false,"split":false,"unit":""}}},'
    '"Room":{"module":"room","in":"managers","owner":"none","instances":"one",'
    '"lookup":"sparse","destroy":"gc","ids":true,"partition":"active","hierarchy":"",'
    '"cold":"inline","fields":{'
    '"name":{"type":"str[16]","default":"","cold":false,"split":false,"unit":""},'
    '"size":{"type":"u32","default":0,"cold":false,"split":false,"unit":""}}}},'
    '"groups":{}}'
)
"""The `schema` of a snapshot: JSON."""

FINGERPRINT: Final = "14647fd237866c73f69e78bcd945c333fa6dd4d35d7097cadc1539ba9c404a83"
"""The SHA-256 of SCHEMA."""

RENAMES: Final[dict[str, dict[str, str]]] = {
    "components": {},
    "enums": {},
    "fields": {},
    "members": {},
}
"""Former names by kind, each with the present one, or "" for what was removed.

Fields and members begin with the present name of their component or enum: "Body.speed".
"""
