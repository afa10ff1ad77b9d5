import * as v from "valibot";
import { ApiError } from "./api-error.ts";
import type { ErrorName } from "./codes.ts";

/** Bytes of JSON that a management call may send. */
export const JSON_BODY_LIMIT: number = 1024 * 1024;

/** Reads a whole body, counting bytes as they arrive; over the limit is 413 at once. */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > limit) throw tooLarge(limit);
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The reader is released by cancel(), so a refused upload does not keep its connection busy.
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel().catch(() => undefined);
      throw tooLarge(limit);
    }
    chunks.push(value);
  }
  return join(chunks, size);
}

function tooLarge(limit: number): ApiError {
  return new ApiError("too_large", { message: `Request body is over the limit of ${limit} bytes` });
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.byteLength;
  }
  return out;
}

/** Options of {@link readJson}. */
export interface ReadJsonOptions {
  /** Bytes. @default JSON_BODY_LIMIT */
  readonly limit?: number;
  /** The error to report for a body that does not fit. @default "invalid_request" */
  readonly error?: ErrorName;
}

/** Reads a JSON body and checks it against a valibot schema; a misfit is a 400 that names the field. */
export async function readJson<S extends v.GenericSchema>(
  request: Request,
  schema: S,
  options: ReadJsonOptions = {},
): Promise<v.InferOutput<S>> {
  const bytes = await readBytes(request, options.limit ?? JSON_BODY_LIMIT);
  return parse(schema, parseJson(bytes, options.error), options.error);
}

/** Parses bytes as JSON; malformed UTF-8 or JSON is a 400. */
export function parseJson(bytes: Uint8Array, error: ErrorName = "invalid_request"): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError(error, { message: "Request body is not valid JSON" });
  }
}

/** Checks a value against a valibot schema; the first misfit is reported with its path. */
export function parse<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  error: ErrorName = "invalid_request",
): v.InferOutput<S> {
  const result = v.safeParse(schema, value, { abortPipeEarly: true });
  if (result.success) return result.output;
  const issue = result.issues[0];
  const path = v.getDotPath(issue);
  throw new ApiError(error, { message: path === null ? issue.message : `${path}: ${issue.message}` });
}
