/** A value for which JSON has no form: its place, its kind, and its text or its length in bytes. */
type Special = readonly [
  path: readonly (string | number)[],
  type: "undefined" | "number" | "bigint" | "bytes",
  content: string | number,
];

/** A message without specials is its JSON alone, behind this byte. */
const JSON_ONLY = 0;
const WITH_SPECIALS = 1;
const HEADER = 5;

/**
 * Encodes data so that every runtime and version reads the same back: JSON, and beside it what JSON cannot say (bytes,
 * `undefined`, bigints, NaN, infinities, -0) with the place where it belongs. Throws `TypeError` for anything else, such as
 * a function.
 */
export function encodePlain(value: unknown): Buffer {
  const specials: Special[] = [];
  const blobs: Uint8Array[] = [];
  collect(value, [], specials, blobs);
  if (specials.length === 0) {
    const text = JSON.stringify(value);
    const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(text));
    bytes[0] = JSON_ONLY;
    bytes.write(text, 1);
    return bytes;
  }
  const text = Buffer.from(JSON.stringify([value, specials], withoutSpecials));
  const header = Buffer.allocUnsafe(HEADER);
  header[0] = WITH_SPECIALS;
  header.writeUInt32LE(text.length, 1);
  return Buffer.concat([header, text, ...blobs]);
}

/** Returns the data that {@link encodePlain} has encoded. Throws for anything else. */
export function decodePlain(bytes: Buffer): unknown {
  if (bytes[0] === JSON_ONLY) return JSON.parse(bytes.toString("utf8", 1)) as unknown;
  if (bytes[0] !== WITH_SPECIALS) throw new TypeError("The bytes are not an encoded value");
  const end = HEADER + bytes.readUInt32LE(1);
  // `as`: checked where it is used.
  const [value, specials] = JSON.parse(bytes.toString("utf8", HEADER, end)) as [unknown, Special[]];
  const root = { value };
  let at = end;
  for (const [path, type, content] of specials) {
    const length = type === "bytes" ? Number(content) : 0;
    if (at + length > bytes.length) throw new RangeError("Bytes are missing");
    put(root, ["value", ...path], restored(type, content, bytes.subarray(at, at + length)));
    at += length;
  }
  return root.value;
}

function collect(
  value: unknown,
  path: (string | number)[],
  specials: Special[],
  blobs: Uint8Array[],
): void {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) specials.push([[...path], "number", String(value)]);
    else if (Object.is(value, -0)) specials.push([[...path], "number", "-0"]);
  } else if (value === undefined) specials.push([[...path], "undefined", ""]);
  else if (typeof value === "bigint") specials.push([[...path], "bigint", String(value)]);
  else if (value instanceof Uint8Array) {
    specials.push([[...path], "bytes", value.length]);
    blobs.push(value);
  } else collectMembers(value, path, specials, blobs);
}

function collectMembers(
  value: unknown,
  path: (string | number)[],
  specials: Special[],
  blobs: Uint8Array[],
): void {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      path.push(at);
      collect(value[at], path, specials, blobs);
      path.pop();
    }
    return;
  }
  if (Object.prototype.toString.call(value) !== "[object Object]")
    throw new TypeError("This is not plain data");
  // `as`: it is an object, as the line above has found.
  for (const [key, member] of Object.entries(value as object)) {
    path.push(key);
    collect(member, path, specials, blobs);
    path.pop();
  }
}

/** Replaces specials by null, before their own `toJSON` is looked at: a place holder keeps the order of members. */
function withoutSpecials(this: unknown, key: string, value: unknown): unknown {
  // `as`: JSON.stringify calls it on the object or array that has the member.
  const member = (this as Record<string, unknown>)[key];
  const isSpecial = member === undefined || member instanceof Uint8Array;
  return isSpecial || typeof member === "bigint" ? null : value;
}

function restored(type: Special[1], content: string | number, bytes: Buffer): unknown {
  if (type === "bytes") return new Uint8Array(bytes);
  if (type === "number") return Number(content);
  return type === "bigint" ? BigInt(content) : undefined;
}

/** Replaces an existing member: a path that leads to something inherited is refused. */
function put(root: object, path: readonly (string | number)[], value: unknown): void {
  let target = root as Record<string, unknown>;
  const keys = [...path];
  const last = String(keys.pop());
  for (const key of keys) target = own(target, String(key)) as typeof target;
  own(target, last);
  Object.defineProperty(target, last, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function own(target: Record<string, unknown>, key: string): unknown {
  if (typeof target === "object" && target !== null && Object.hasOwn(target, key))
    return target[key];
  throw new TypeError("A value has no place");
}
