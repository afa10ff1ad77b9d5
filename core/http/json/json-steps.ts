import type { System } from "../../ports.ts";
import { jsonBounds } from "../json.ts";
import { jsonReader, type JsonReader, type JsonToken, nextToken } from "./json-reader.ts";

/** Bytes of JSON that are parsed at once: a few milliseconds of work. */
export const PARSED_AT_ONCE: number = 1024 * 1024;

/** Work of one step, in bytes or characters: about a millisecond. */
const STEP = 256 * 1024;

/** The reason why JSON is not parsed, such as `more than 20000 members`. */
export class JsonExcess extends Error {}

/**
 * Parses JSON and lets others go on in between: 10 MB take some 20 ms, and of escaped quotes a hundred. Throws `TypeError` for
 * bytes other than UTF-8, `SyntaxError` for malformed JSON, and {@link JsonExcess} beyond a bound of {@link jsonBounds}.
 */
export async function parsedInSteps(
  bytes: Uint8Array,
  { sleep }: Pick<System, "sleep">,
  mostValues: number = jsonBounds.values,
): Promise<unknown> {
  const steps = new JsonSteps(await decodedInSteps(bytes, sleep), mostValues);
  while (!steps.next()) await sleep(0);
  return steps.value;
}

/** A function of its own: the parts of the text would stay in memory until it is parsed. */
async function decodedInSteps(bytes: Uint8Array, sleep: System["sleep"]): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += STEP) {
    const stream = at + STEP < bytes.length;
    parts.push(decoder.decode(bytes.subarray(at, at + STEP), { stream }));
    await sleep(0);
  }
  return parts.join("");
}

/** A list or an object that has not ended. */
interface Open {
  readonly into: unknown[] | Record<string, unknown>;
  /** The name of the member that comes next. */
  name: string;
  isEmpty: boolean;
}

/** The steps in which a JSON text becomes a value. */
class JsonSteps {
  /** The value, once the text has ended. */
  value: unknown;
  readonly #reader: JsonReader;
  readonly #mostValues: number;
  readonly #open: Open[] = [];
  readonly #names = new Set<string>();
  /** The pieces of the token that has begun. */
  #pieces: string[] = [];
  #members = 0;
  #values = 0;
  #containers = 0;

  constructor(text: string, mostValues: number) {
    this.#reader = jsonReader(text, 0, { slice: STEP });
    this.#mostValues = mostValues;
  }

  /** Does one step; returns whether it was the last one. */
  next(): boolean {
    const reader = this.#reader;
    for (reader.work = 0; reader.work < STEP;) {
      const token = nextToken(reader);
      if (token === "end") return true;
      if (token === "wrong") throw new SyntaxError("malformed JSON");
      this.#take(token, reader.text.slice(reader.start, reader.at));
    }
    return false;
  }

  #take(token: JsonToken, text: string): void {
    if (token === "more") this.#add(text);
    else if (token === "{" || token === "[") this.#begin(token === "{" ? {} : []);
    else if (token === "}" || token === "]") this.#open.pop();
    else if (token === "name") this.#name(this.#whole(text));
    else this.#put(this.#whole(text));
  }

  /** Adds a piece of a string without its quotes and escapes. */
  #add(piece: string): void {
    const { within } = this.#reader;
    if (within === "number") throw new JsonExcess(`a number of over ${STEP} digits`);
    const start = this.#pieces.length === 0 ? "" : '"';
    if (within === "string") this.#pieces.push(String(JSON.parse(`${start}${piece}"`)));
  }

  /** The value of a token without parts, whose last piece is `text`. */
  #whole(text: string): unknown {
    const pieces = this.#pieces;
    if (pieces.length === 0) return JSON.parse(text);
    this.#pieces = [];
    return pieces.join("") + String(JSON.parse(`"${text}`));
  }

  #begin(into: Open["into"]): void {
    this.#put(into);
    this.#open.push({ into, name: "", isEmpty: true });
    this.#values++;
    this.#containers++;
    check(this.#open.length, "levels");
    check(this.#containers, "lists and objects");
  }

  #name(name: unknown): void {
    const open = this.#open.at(-1);
    if (open === undefined) return;
    open.name = String(name);
    this.#names.add(open.name);
    check(++this.#members, "members");
    check(this.#names.size, "different names");
  }

  #put(value: unknown): void {
    const open = this.#open.at(-1);
    if (open === undefined) {
      this.value = value;
      return;
    }
    const { into, name, isEmpty } = open;
    if (!isEmpty) check(++this.#values, "values", this.#mostValues);
    open.isEmpty = false;
    if (Array.isArray(into)) into.push(value);
    // It is a member like others here, as in `JSON.parse`.
    else if (name === "__proto__") Object.defineProperty(into, name, own(value));
    else into[name] = value;
  }
}

const own = (value: unknown): PropertyDescriptor => ({
  value,
  writable: true,
  enumerable: true,
  configurable: true,
});

function check(count: number, of: keyof typeof jsonBounds, most: number = jsonBounds[of]): void {
  if (count > most) throw new JsonExcess(`more than ${most} ${of}`);
}
