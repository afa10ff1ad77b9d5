import { Buffer } from "node:buffer";
import { deserialize, serialize } from "node:v8";
import { isObject } from "../../../core/http/json.ts";

/** A value on a pipe: the length of its head, the head, and the bytes that are members of it one behind the other. */
interface FrameHead {
  readonly value: unknown;
  /** The members of `value[part]` that are bytes, with their lengths. */
  readonly bytes: readonly (readonly [name: string, length: number])[];
}

/** Writes a value, whose member `part` may have members that are bytes: these are not copied. */
export function frameOf(value: object, part: string): Uint8Array[] {
  const inner: unknown = isObject(value) ? value[part] : undefined;
  const lifted = isRecord(inner)
    ? Object.entries(inner).flatMap(([name, member]) =>
        member instanceof Uint8Array ? [[name, member] as const] : [],
      )
    : [];
  const rest = isRecord(inner)
    ? { ...inner, ...Object.fromEntries(lifted.map(([name]) => [name, null])) }
    : inner;
  const head: FrameHead = {
    value: lifted.length === 0 ? value : { ...value, [part]: rest },
    bytes: lifted.map(([name, member]) => [name, member.byteLength]),
  };
  const written = serialize(head);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(written.length);
  return [length, written, ...lifted.map(([, member]) => member)];
}

/** Whether a value is an object whose members may be bytes. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** Takes what comes out of a pipe; null until a whole value is there. Throws for one of more than `most` bytes. */
export function frameReader(part: string, most: number): (chunk: Uint8Array) => unknown {
  let wanted = filled(4);
  let state: "length" | "head" | "bytes" = "length";
  let head: FrameHead = { value: null, bytes: [] };
  let read: Record<string, unknown> = {};
  let left: FrameHead["bytes"] = [];

  /** Goes on with the next part of the frame; the value when that was the last. */
  const next = (): unknown => {
    if (state === "length") {
      const length = Buffer.from(wanted.into.buffer).readUInt32BE();
      if (length > most) throw new RangeError("The answer is too large");
      [state, wanted] = ["head", filled(length)];
      return null;
    }
    if (state === "head") {
      head = deserialize(wanted.into) as FrameHead;
      left = head.bytes;
      read = {};
      state = "bytes";
      if (left.reduce((sum, [, length]) => sum + length, 0) > most)
        throw new RangeError("The answer is too large");
    } else {
      const [name] = left[0] ?? [""];
      read[name] = wanted.into;
      left = left.slice(1);
    }
    const [following] = left;
    if (following !== undefined) {
      wanted = filled(following[1]);
      return following[1] === 0 ? next() : null;
    }
    [state, wanted] = ["length", filled(4)];
    return withBytes(head.value, part, read);
  };

  return (chunk) => {
    let value: unknown = null;
    for (let at = 0; at < chunk.length;) {
      const taken = chunk.subarray(at, at + wanted.into.length - wanted.have);
      wanted.into.set(taken, wanted.have);
      wanted.have += taken.length;
      at += taken.length;
      if (wanted.have === wanted.into.length) value = next() ?? value;
    }
    return value;
  };
}

interface Filled {
  readonly into: Uint8Array<ArrayBuffer>;
  have: number;
}

function filled(length: number): Filled {
  return { into: new Uint8Array(length), have: 0 };
}

function withBytes(
  value: unknown,
  part: string,
  bytes: Readonly<Record<string, unknown>>,
): unknown {
  if (!isRecord(value) || Object.keys(bytes).length === 0) return value;
  const inner = value[part];
  return { ...value, [part]: { ...(isRecord(inner) ? inner : {}), ...bytes } };
}
