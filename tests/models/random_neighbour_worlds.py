"""Draws worlds whose kernels ask neighbours: rows of components of any policies, of a group and of
queries, at once and in turns."""

from __future__ import annotations

from random import Random

from tests.models.random_schemas import GROUPLESS, Draft, Schemas

SIZES = "ring", "growth", "capacity"
"""Keys of components that would leave no room for the tests' entities."""
PLACES = ('{type: "f32[2]"}', '{type: "f32[3]", split: true}', '{type: "f64[2]", split: true}')
STEPS = {
    "moves": """
      - {own}.weight = sum(other.{other}.weight) + f32(count())
      - {own}.place += nearest(offset) * 0.25""",
    "matches": """
      - {own}.weight = f32(max(distance)) - mean(other.{other}.weight)""",
    "pushes": """
      - {own}.weight = f32(count())
      - nearest(other.entity).{other}.weight += {own}.weight
      - nearest(other.entity).{own}.place -= 0.5
      - {own}.place -= sum(offset) * 0.125""",
    "refers": """
      - found = nearest(other.entity)
      - {own}.weight += found.{other}.weight * 0.5
      - {own}.weight += f32(count(other.entity != entity and exists(found)))""",
}
WHERE = {"matches": "    where: count(other.{other}.weight > {own}.weight) > 1\n"}
OF_ENTITIES = "pushes", "refers"


class NearWorlds:
    """A source of such worlds; the same number draws the same one."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        schemas = Schemas(number)
        self.drafts = [self._with_place(schemas.component(f"Mix{letter}")) for letter in "ABC"]

    def _with_place(self, draft: Draft) -> Draft:
        keys = {key: value for key, value in draft.keys.items() if key not in SIZES}
        if draft.name != "MixC":
            keys.pop("instances", "")  # or queries and groups would rarely have two of them
            if self.random.random() < 0.7:
                keys.pop("partition", "")
        fields = {"place": self.random.choice(PLACES), "weight": "{type: f32, default: 2}"}
        if keys.get("cold") == "indirect":
            fields["far"] = "{type: f32, tags: [cold]}"
        wrap = ", wrap: [9, 0]" if "[2]" in fields["place"] and self.random.random() < 0.5 else ""
        return Draft(draft.name, {**keys, "space": f"{{field: place{wrap}}}"}, fields)

    @property
    def text(self) -> str:
        """The schemas."""
        sets = {draft.name: [draft] for draft in self.drafts}
        single = [d for d in self.drafts if self._is_owned(d) and not self._is_many(d)]
        queries, groups = "", ""
        if single:
            first, *others = single
            sets["alone"] = [first]
            clauses = "".join(f", none: [{component.name}]" for component in others[-1:])
            queries = f"  alone: {{all: [{first.name}]{clauses}}}\n"
            sets["whole"] = single
            queries += f"  whole: {{all: [{', '.join(d.name for d in single)}]}}\n"
        grouped = [d for d in single if not any(d.keys.get(k) == v for k, v in GROUPLESS)]
        if len(grouped) > 1:
            sets["together"] = grouped
            groups = f"groups: {{together: [{', '.join(d.name for d in grouped)}]}}\n"
        kernels = "".join(self._kernel(k, sets) for k in range(4))
        head = f"world: Mixture\n{groups}" + (f"queries:\n{queries}" if queries else "")
        world = f"{head}kernels:\n{kernels}"
        return "---\n".join(
            [world, "component: Known\nids: true\n", *(d.text for d in self.drafts)]
        )

    def _kernel(self, number: int, sets: dict[str, list[Draft]]) -> str:
        """A kernel over one of the sets, which asks one with the same places."""
        random = self.random
        over = random.choice(sorted(sets))
        asking = random.choice(sets[over])
        among = random.choice(sorted(name for name, of_one in sets.items() if asking in of_one))
        shared = [name for name in sets[over] if name in sets[among]]
        if len(shared) > 1:  # which space is meant would be open
            among = asking.name
        other = random.choice(sets[among])
        how = random.choice(
            [step for step in STEPS if self._is_owned(asking) or step not in OF_ENTITIES]
        )
        steps = (WHERE.get(how, "") + "    steps:" + STEPS[how]).format(
            own=asking.name, other=other.name
        )
        is_known = not self._is_many(asking) or asking.keys.get("ids") == "true"
        turns = random.choice(["", "rows", "random" if is_known else "rows"])
        lines = [f"  run_{number}:", f"    over: {over}"]
        lines += [f"    turns: {turns}"] if turns else []
        lines += [f"    near: {{radius: reach, among: {among}}}", "    args: {reach: f32}"]
        return "\n".join([*lines, steps]) + "\n"

    def _is_owned(self, draft: Draft) -> bool:
        return draft.keys.get("owner") != "none"

    def _is_many(self, draft: Draft) -> bool:
        return draft.keys.get("instances") == "many"
