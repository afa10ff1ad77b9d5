import { isObject, parsedJson } from "../json.ts";
import { headerString } from "../header-text.ts";
import { noteResponse, responseNote, setAnswerHeader } from "../response-note.ts";
import type { Context, MiddlewareHandler } from "hono";
import type * as v from "valibot";
import { ApiError } from "../api-error.ts";
import type { ErrorName } from "../codes.ts";
import { didYouMean, misspelling } from "../../text/nearest.ts";
import { itemSchemas, type KnownFields, knownFields } from "./schema-fields.ts";

/** Most unknown fields that are reported; a body with more was not written for this API. */
const UNKNOWN_LIMIT = 32;
/** Objects and lists of a body that are looked into: each is compared with all that its schema could mean. */
const VISIT_LIMIT = 1000;
/** Characters of a stranger's name that are repeated. */
const SHOWN = 64;
/** Our own number for the note about a field without effect; `codes.ts` holds those of errors. */
const NOTE_CODE = 10415;

/** A field that a schema does not know. */
interface UnknownField {
  readonly at: Place | null;
  readonly name: string;
  readonly known: readonly string[];
}

/** The path of an object in a body. */
interface Place {
  readonly outside: Place | null;
  readonly name: string | number;
}

interface Walk {
  readonly found: UnknownField[];
  visits: number;
}

/**
 * Refuses a body or query with a field that is a misspelling of one that the schema knows, at any depth, by an error
 * that names both. Every other unknown field may come from a client newer than us: it passes, and is noted.
 */
export function checkFields(
  schema: v.GenericSchema,
  value: unknown,
  error: ErrorName = "invalid_request",
  kind: "field" | "parameter" = "field",
): readonly string[] {
  const walk: Walk = { found: [], visits: 0 };
  visit([schema], value, null, walk);
  return walk.found.map(({ at, name, known }) => {
    const shown = `Unknown ${kind} "${pathOf(at, name)}"`;
    const meant = misspelling(name, known);
    if (meant !== undefined) {
      throw new ApiError(error, { message: `${shown}: did you mean "${pathOf(at, meant)}"?` });
    }
    return `${shown}${name.length > SHOWN ? "" : didYouMean(name, known)}`;
  });
}

function pathOf(at: Place | null, name: string | number): string {
  const own = String(name).slice(0, SHOWN);
  return at === null ? own : `${pathOf(at.outside, at.name)}.${own}`;
}

function visit(schemas: readonly unknown[], value: unknown, at: Place | null, walk: Walk): void {
  if (isDone(walk)) return;
  walk.visits++;
  if (Array.isArray(value)) {
    const items = itemSchemas(schemas, value);
    if (items.length === 0) return;
    for (let index = 0; index < value.length && !isDone(walk); index++) {
      const item: unknown = value[index];
      if (typeof item === "object") visit(items, item, { outside: at, name: index }, walk);
    }
    return;
  }
  if (!isObject(value)) return;
  const known = knownFields(schemas, value);
  if (known !== null) visitFields(known, value, at, walk);
}

function isDone({ found, visits }: Walk): boolean {
  return found.length >= UNKNOWN_LIMIT || visits >= VISIT_LIMIT;
}

function visitFields(
  known: KnownFields,
  value: Readonly<Record<string, unknown>>,
  at: Place | null,
  walk: Walk,
): void {
  // Reads names one by one, without a list of all, of which a hostile body has many.
  for (const name in value) {
    const inner: unknown = value[name];
    // An object with free names can have very many.
    if (known.isOpen && typeof inner !== "object") continue;
    const schemas = known.of(name);
    if (schemas !== undefined) {
      if (typeof inner === "object") visit(schemas, inner, { outside: at, name }, walk);
    } else walk.found.push({ at, name, known: known.names() });
    if (isDone(walk)) return;
  }
}

/**
 * Whether a checked value still has every field of its input: then none was unknown. Far cheaper than {@link
 * checkFields}; also false where a schema passes something unchecked or transforms it.
 */
export function hasEveryField(output: unknown, input: unknown): boolean {
  if (typeof input !== "object" || input === null) return true;
  if (typeof output !== "object" || output === null || output === input) return false;
  if (Array.isArray(input)) {
    return (
      Array.isArray(output) && input.every((item, index) => hasEveryField(output[index], item))
    );
  }
  // Reads names one by one, and only as far as the first unknown one: a hostile body has many.
  for (const name in input) {
    if (!Object.hasOwn(output, name)) return false;
    const inner: unknown = Reflect.get(input, name);
    if (typeof inner === "object" && !hasEveryField(Reflect.get(output, name), inner)) return false;
  }
  return true;
}

/** Keeps the messages of {@link checkFields} for {@link addUnknownFields}. */
export function noteUnknownFields(c: Context, messages: readonly string[]): void {
  noteAnswer(
    c,
    messages.map((message) => `${message} (ignored)`),
  );
}

/** Keeps notes for {@link addUnknownFields}. */
export function noteAnswer(c: Context, messages: readonly string[]): void {
  if (messages.length === 0) return;
  const before: unknown = c.get(NOTED);
  c.set(NOTED, [...(Array.isArray(before) ? before : []), ...messages]);
}

/**
 * Adds the notes of a request to the `messages` of its answer, where that has them. An answer that is not JSON, such as a PDF, has
 * the first of them in the header `x-messages`.
 */
export function addUnknownFields(c: Context): Promise<void> | undefined {
  const messages: unknown = c.get(NOTED);
  return Array.isArray(messages) ? addNotes(c, messages.map(String)) : undefined;
}

/** Does {@link addUnknownFields} for a route without `authorize`, which does it too. */
export const addsUnknownFields: MiddlewareHandler = async (c, next) => {
  await next();
  await addUnknownFields(c);
};

/** Adds texts to the `messages` of an answer, as {@link addUnknownFields} does. */
export async function addNotes(c: Context, messages: readonly string[]): Promise<void> {
  const { status, headers } = c.res;
  if (!(headers.get("content-type") ?? "").startsWith("application/json"))
    return setAnswerHeader(
      c,
      "x-messages",
      messages.slice(0, IN_HEADER).map(headerString).join(", "),
    );
  const note = responseNote(c.res);
  const text = typeof note?.body === "string" ? note.body : await c.res.text();
  const body = withNotes(text, messages) ?? text;
  const others = new Headers(headers);
  others.delete("content-length");
  const response = new Response(body, { status, headers: others });
  c.res = undefined;
  c.res = note === undefined ? response : noteResponse(response, { ...note, body });
}

const NOTED = "causey.unknown-fields";

/** Notes that a header holds. */
const IN_HEADER = 10;

/** The text before the messages of an answer. No string of the answer can hold it: quotes in strings are escaped. */
const BEFORE = ',"messages":[';

/**
 * Adds notes to the `messages` of an answer; null where it has none. Only the end of the answer is parsed: what is before it can be
 * as long as a PDF, and hold numbers that JavaScript does not have.
 */
function withNotes(text: string, messages: readonly string[]): string | null {
  const at = text.lastIndexOf(BEFORE);
  if (at === -1) return null;
  const end = parsedJson(`{${text.slice(at + 1)}`);
  // The messages of an inner object leave a brace too many.
  if (!isObject(end) || !Array.isArray(end["messages"])) return null;
  const added = messages.map((message) => ({ code: NOTE_CODE, message }));
  const told = JSON.stringify({ ...end, messages: [...end["messages"], ...added] });
  return `${text.slice(0, at + 1)}${told.slice(1)}`;
}
