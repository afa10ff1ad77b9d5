import type { Context } from "hono";
import * as v from "valibot";
import { ApiError } from "../api-error.ts";
import type { ErrorName } from "../codes.ts";
import {
  type ArrivingRoom,
  arrivingRoom,
  type BodyPlatform,
  readArriving,
  readSmall,
  UNCOUNTED,
} from "../arriving-body.ts";
import { fromJson } from "./from-json.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { checkFields, hasEveryField, noteUnknownFields } from "./unknown-fields.ts";
import { jsonExcess } from "../json.ts";
import { JsonExcess, PARSED_AT_ONCE, parsedInSteps } from "../json/json-steps.ts";
import { inLongBodyLane, type LongBodyWork } from "../json/long-body-lane.ts";
import type { System } from "../../ports.ts";
import { type MisfitOptions, misfitText } from "./misfit.ts";
import { wholeRequest } from "../whole-request.ts";

/** Bytes of JSON that a management call may send. */
export const JSON_BODY_LIMIT: number = 1024 * 1024;

/** Values of a body that a schema checks: it looks at each element of a list before it counts them. */
const CHECKED_VALUES = 20_000;

/**
 * Reads a whole body and passes it to `use`; it counts among the bodies in memory until `use` is done. Throws as {@link
 * readBytes} does, `bodies_full` when memory is full and `request_timeout` when the body does not arrive in time.
 */
export async function withBytes<T>(
  request: Request,
  limit: number,
  platform: BodyPlatform,
  use: (bytes: Uint8Array<ArrayBuffer>) => Promise<T> | T,
): Promise<T> {
  const room = arrivingRoom(platform, true);
  try {
    return await use(await readBytes(request, limit, room));
  } finally {
    room.release();
  }
}

/**
 * Reads a whole body, counting bytes as they arrive; over the limit is 413 at once, one that breaks off is 400. With
 * `room` it has to arrive in time, and one of over {@link UNCOUNTED} bytes to find room.
 */
export async function readBytes(
  request: Request,
  limit: number,
  room?: ArrivingRoom,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limit) throw tooLarge(limit);
  // HTTP bounds such a body by its length.
  if (declared <= (room === undefined ? limit : Math.min(limit, UNCOUNTED))) {
    const whole = await readSmall(request, room?.system);
    // A request made by hand may declare less than it holds.
    if (whole.byteLength > limit) throw tooLarge(limit);
    return whole;
  }
  if (request.body === null) return new Uint8Array(0);
  const bytes = await readArriving(request.body, limit, room);
  if (bytes instanceof Uint8Array) return bytes;
  await bytes.cancel().catch(() => undefined);
  throw tooLarge(limit);
}

/** Closes the connection: the rest of the body would have to be read before another request. */
function tooLarge(limit: number): ApiError {
  const message = `Request body is over the limit of ${limit} bytes`;
  return new ApiError("too_large", { message, headers: { connection: "close" } });
}

export interface ReadJsonOptions {
  /** Bytes. @default JSON_BODY_LIMIT */
  readonly limit?: number;
  /** The error to report for a body that does not fit. @default "invalid_request" */
  readonly error?: ErrorName;
  /** Whether no body at all stands for `{}`. @default false */
  readonly optional?: boolean;
  /** Whether a part of it is any JSON, which the schema does not look into: it may have ten times as many values. @default false */
  readonly hasPayload?: boolean;
  /** Has the body count among those in memory until it is parsed, and arrive in time. */
  readonly platform?: BodyPlatform;
  /** Shares the parsing of long bodies with other owners, in turn. @default all without one share a turn */
  readonly owner?: string;
  /** Receives the messages about unknown fields. @default the answer's `messages`, if a context is passed */
  readonly onUnknown?: (messages: readonly string[]) => void;
}

/**
 * Reads a JSON body, also one that a middleware of the host has read already, and checks it against a valibot schema. A
 * misfit is a 400 that names the field, and so is a misspelt field, see {@link checkFields}.
 */
export async function readJson<S extends v.GenericSchema>(
  from: Context | Request,
  schema: S,
  options: ReadJsonOptions = {},
): Promise<v.InferOutput<S>> {
  const whole = "req" in from ? await wholeRequest(from.req) : from;
  const { limit = JSON_BODY_LIMIT, platform } = options;
  const { output, unknown } =
    platform === undefined
      ? readJsonBytes(await readBytes(whole, limit), schema, options)
      : await withBytes(whole, limit, platform, async (bytes) =>
          bytes.length <= PARSED_AT_ONCE
            ? readJsonBytes(bytes, schema, options)
            : readLongBytes(bytes, schema, options, {
                system: platform.system,
                owner: options.owner ?? "",
                signal: whole.signal,
              }),
        );
  if (options.onUnknown !== undefined) options.onUnknown(unknown);
  else if ("req" in from) noteUnknownFields(from, unknown);
  return output;
}

/** Reads the body of a route that needs none, to say which fields have no effect. Throws as {@link readJson} does. */
export async function readNothing(c: Context, platform: BodyPlatform): Promise<void> {
  await readJson(c, v.object({}), { optional: true, platform });
}

/** Does {@link readJson} with bytes that are at hand; `unknown` lists messages about unknown fields. */
export function readJsonBytes<S extends v.GenericSchema>(
  bytes: Uint8Array,
  schema: S,
  {
    optional = false,
    error,
    hasPayload = false,
  }: Pick<ReadJsonOptions, "optional" | "error" | "hasPayload"> = {},
): { readonly output: v.InferOutput<S>; readonly unknown: readonly string[] } {
  const value =
    optional && bytes.length === 0 ? {} : parseJson(bytes, error, valuesOf({ hasPayload }));
  return parseKnown(schema, value, error);
}

/** Does {@link readJsonBytes} in steps, while no other long body is parsed. */
function readLongBytes<S extends v.GenericSchema>(
  bytes: Uint8Array,
  schema: S,
  options: ReadJsonOptions,
  place: LongBodyWork,
): Promise<{ readonly output: v.InferOutput<S>; readonly unknown: readonly string[] }> {
  const { error } = options;
  return inLongBodyLane(place, async (steps) =>
    parseKnown(schema, await parseJsonInSteps(bytes, steps, error, valuesOf(options)), error),
  );
}

function valuesOf({ hasPayload = false }: ReadJsonOptions): number | undefined {
  return hasPayload ? undefined : CHECKED_VALUES;
}

/**
 * Does {@link readJson} with a value from code of the same process, which gets no `messages`: there, every unknown field
 * is refused.
 */
export function checkedJson<S extends v.GenericSchema>(
  value: unknown,
  schema: S,
  limit: number,
): v.InferOutput<S> {
  // Serialised first, so that the value is bounded, plain and a copy, like a client's.
  const bytes = utf8(JSON.stringify(value) ?? "");
  if (bytes.length > limit) throw tooLarge(limit);
  const { output, unknown } = readJsonBytes(bytes, schema);
  refuseUnknown(unknown);
  return output;
}

/** Refuses unknown fields, for callers without an answer that could mention them. */
export function refuseUnknown(unknown: readonly string[]): void {
  if (unknown.length > 0) throw new ApiError("invalid_request", { message: unknown.join("; ") });
}

/** Does {@link parse}, and {@link checkFields} where that could find something. */
function parseKnown<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  error: ErrorName | undefined,
): { readonly output: v.InferOutput<S>; readonly unknown: readonly string[] } {
  const result = checkedBy(schema, value);
  if (result.success && hasEveryField(result.output, value)) {
    return { output: result.output, unknown: [] };
  }
  // Checked first, because a missing field may be the misspelt one.
  const unknown = checkFields(schema, value, error);
  if (!result.success) throw misfit(result.issues, error, { of: { schema, value } });
  return { output: result.output, unknown };
}

/** Parses bytes as JSON; malformed UTF-8 or JSON, or what {@link jsonExcess} finds too much of, is a 400. */
export function parseJson(
  bytes: Uint8Array,
  error: ErrorName = "invalid_request",
  mostValues?: number,
): unknown {
  if (bytes.length === 0)
    throw new ApiError(error, { message: "The request has no body: send JSON" });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ApiError(error, { message: "Request body is not valid JSON: it is not UTF-8" });
  }
  const excess = jsonExcess(text, mostValues);
  if (excess !== null) throw new ApiError(error, { message: `Request body has ${excess}` });
  return fromJson(text, "Request body", error);
}

/** Does {@link parseJson}, and lets others go on while it reads a long body. */
export async function parseJsonInSteps(
  bytes: Uint8Array,
  system: Pick<System, "sleep">,
  error: ErrorName = "invalid_request",
  mostValues?: number,
): Promise<unknown> {
  if (bytes.length <= PARSED_AT_ONCE) return parseJson(bytes, error, mostValues);
  try {
    return await parsedInSteps(bytes, system, mostValues);
  } catch (cause) {
    if (cause instanceof JsonExcess)
      throw new ApiError(error, { message: `Request body has ${cause.message}` });
    const isText = !(cause instanceof TypeError);
    if (isText && !(cause instanceof SyntaxError)) throw cause;
    const why = isText ? "" : ": it is not UTF-8";
    throw new ApiError(error, { message: `Request body is not valid JSON${why}` });
  }
}

/** Checks a value against a valibot schema; {@link misfitText} says what does not fit. */
export function parse<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  error: ErrorName = "invalid_request",
  kind: "field" | "parameter" = "field",
): v.InferOutput<S> {
  const result = checkedBy(schema, value);
  if (result.success) return result.output;
  throw misfit(result.issues, error, { kind, of: { schema, value } });
}

/** Values of a body of which all misfits are found; of a larger one it is the first: each of its values may be one. */
const SMALL = 2000;

/** Checks a value; its issues are all that is wrong with a small one, and the first that is wrong with a larger one. */
function checkedBy<S extends v.GenericSchema>(schema: S, value: unknown): v.SafeParseResult<S> {
  const abortEarly = countValues(value, SMALL) > SMALL;
  return v.safeParse(schema, value, { abortEarly, abortPipeEarly: true });
}

/** Counts the values in a value, itself included, no further than to one more than `limit`. */
function countValues(value: unknown, limit: number): number {
  if (typeof value !== "object" || value === null) return 1;
  // Its names would be listed first, each as a text.
  if (Array.isArray(value) && value.length > limit) return value.length;
  let count = 1;
  for (const name in value) {
    count += countValues(Reflect.get(value, name), limit - count);
    if (count > limit) return count;
  }
  return count;
}

function misfit(
  issues: readonly v.BaseIssue<unknown>[],
  error: ErrorName = "invalid_request",
  options: MisfitOptions = {},
): ApiError {
  return new ApiError(error, { message: misfitText(issues, options) });
}
