"""Components that others refer to, one of each policy."""

from __future__ import annotations

KEYS = {
    "Sparse": "",
    "Hash": "lookup: hash\n",
    "Direct": "lookup: direct\nids: true\n",
    "Many": "instances: many\nids: true\n",
    "Nobody": "owner: none\n",
    "Parted": "partition: {start: active}\nids: true\n",
    "Round": "ring: 40\nids: true\nlookup: hash\n",
    "Held": "growth: {reserve: 8192}\nids: true\n",
}
"""The components that are referred to, and their policies."""
WITH_IDS = [name for name in KEYS if name not in ("Sparse", "Hash")]
OWNED = [name for name in KEYS if name != "Nobody"]
FIELDS = """\
fields:
  at: {type: "f32[3]", default: [1, -2, 3]}
  parts: {type: "f64[2]", split: true, default: 0.5}
  turn: "f32[2,2]"
  table: "i16[3,3]"
  wide: {type: "f32[20]", default: 7}
  sum: f32
  hits: {type: i32, default: -7}
  small: {type: u8, default: 9}
  most: f64
  flag: bool
  link: entity
  friends: "entity[2]"
"""
OTHERS = "".join(f"---\ncomponent: {name}\n{keys}{FIELDS}" for name, keys in KEYS.items())
