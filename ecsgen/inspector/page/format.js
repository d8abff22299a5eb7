// Numbers, entities and cells as people read them.

let indexBits = 32n;
let shardBits = 0n;
let nameOf = new Map(); // a component's name in the world, by that of its class

export function setEntityBits(index, shard) {
  indexBits = BigInt(index);
  shardBits = BigInt(shard);
}

export function setComponents(components) {
  nameOf = new Map(components.map(({ name, title }) => [title, name]));
}

// `5v1`, and `5v1@3` of one that was made in shard 3.
export function entityName(text) {
  const handle = BigInt(text);
  const shard = (handle >> indexBits) & ((1n << shardBits) - 1n);
  const name = `${handle & ((1n << indexBits) - 1n)}v${handle >> (indexBits + shardBits)}`;
  return shard ? `${name}@${shard}` : name;
}

// Such a name or a number to the entity's number; null for what is neither.
export function entityNumber(text) {
  const named = /^(\d{1,20})v(\d{1,20})(?:@(\d{1,10}))?$/.exec(text.trim());
  if (!named) return /^\d{1,20}$/.test(text.trim()) ? text.trim() : null;
  const [index, generation, shard] = [named[1], named[2], named[3] ?? 0].map(BigInt);
  if (shard >> shardBits) return null;
  return String((generation << (indexBits + shardBits)) | (shard << indexBits) | index);
}

export function count(number) {
  return number.toLocaleString("en");
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit ? size.toFixed(1) : size} ${units[unit]}`;
}

export function milliseconds(time) {
  return `${time < 10 ? time.toFixed(2) : time.toFixed(1)} ms`;
}

// The shortest text that is this f32: as JSON it has the digits of a double.
function single(value) {
  for (let digits = 6; digits < 10; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(text) === value) return String(Number(text));
  }
  return String(value);
}

export function isReference(type) {
  return /^(entity|id<)/.test(type);
}

// Where a reference leads: to an entity, or to a row of the component in `id<…>`.
export function referencePath(type, value) {
  if (type.startsWith("entity")) return `entity/${value}`;
  return `row/${nameOf.get(/^id<(.+)>/.exec(type)[1])}/${value}`;
}

export function cellText(value, type) {
  if (value === null) return "";
  if (Array.isArray(value)) {
    const parts = value.map((part) => cellText(part, type));
    return Array.isArray(value[0]) ? parts.map((part) => `(${part})`).join(" ") : parts.join(", ");
  }
  if (isReference(type)) return value === "0" ? "–" : type.startsWith("entity") ? entityName(value) : value;
  if (typeof value === "number" && type.startsWith("f32")) return single(value);
  return String(value);
}

// How wide a column is, in characters.
export function width(type, shape, name, members) {
  const scalar = type.split("[")[0];
  const each = { bool: 7, f32: 11, f64: 18, u64: 20, i64: 20, entity: 9 }[scalar] ?? Math.max(8, ...(members ?? []).map((member) => member.length + 1));
  const size = /^(str|bytes)\[(\d+)\]/.exec(type);
  const cells = shape.reduce((product, length) => product * length, 1);
  const scalars = cells > 1 ? 36 : 24;
  const wanted = size ? Number(size[2]) * (size[1] === "bytes" ? 2 : 1) : each * cells;
  return Math.min(Math.max(wanted, name.length + 2, 7), scalars) + 3; // for the padding
}
