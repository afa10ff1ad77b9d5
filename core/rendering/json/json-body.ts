import * as v from "valibot";
import { invalidRequest } from "../../http/api-error.ts";
import type { DocumentBody } from "../input/body.ts";
import { isObject } from "../../http/json.ts";

/** A model to ask, `{provider}/{model}`, and its provider's credentials. */
export interface ModelChoice {
  readonly model: string;
  /** @default the operator's, for the operator's model only */
  readonly authorization?: string | undefined;
}

/** The data that a model is to find in a page. */
export interface JsonOptions {
  readonly prompt?: string | undefined;
  readonly response_format?: ResponseFormat | undefined;
  /** Tried in order. @default the operator's model */
  readonly custom_ai?: readonly ModelChoice[] | undefined;
}

interface ResponseFormat {
  readonly type: "json_schema";
  readonly json_schema: Readonly<Record<string, unknown>>;
}

export interface JsonBody extends DocumentBody, JsonOptions {}

/** Characters of a schema, as JSON. */
const SCHEMA_LIMIT = 64 * 1024;

const filled = (most: number): v.GenericSchema<string> =>
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(most));

/** The fields that tell what a model is to find. */
export const jsonFields: {
  readonly prompt: v.GenericSchema<unknown, string | undefined>;
  readonly response_format: v.GenericSchema<unknown, ResponseFormat | undefined>;
  readonly custom_ai: v.GenericSchema<unknown, readonly ModelChoice[] | undefined>;
} = {
  prompt: v.optional(filled(20_000)),
  response_format: v.optional(
    v.object({
      type: v.literal("json_schema"),
      json_schema: v.pipe(
        v.record(v.string(), v.unknown()),
        v.check(
          (schema) => JSON.stringify(schema).length <= SCHEMA_LIMIT,
          `At most ${SCHEMA_LIMIT} characters are allowed`,
        ),
      ),
    }),
  ),
  custom_ai: v.optional(
    v.pipe(
      v.array(
        v.object({
          model: v.pipe(filled(200), v.regex(/^[^/]+\/./u, "expected {provider}/{model}")),
          authorization: v.optional(
            v.pipe(filled(4096), v.regex(/^[\x21-\x7e]+ [\x21-\x7e]+$/u, "expected Bearer {key}")),
          ),
        }),
      ),
      v.minLength(1),
      v.maxLength(5),
    ),
  ),
};

/** @throws ApiError `invalid_request` for a body without a prompt or a schema */
export function checkWanted({ prompt, response_format: format }: JsonOptions, field = ""): void {
  if (prompt !== undefined || format !== undefined) return;
  throw invalidRequest(`${field}One of prompt and response_format is needed`);
}

/** Returns the JSON Schema that is asked for; also one that is wrapped as OpenAI has it. Null without any. */
export function wantedSchema({ response_format: format }: JsonOptions): string | null {
  if (format === undefined) return null;
  const { json_schema: given } = format;
  const isWrapped = isObject(given["schema"]) && !("type" in given) && !("properties" in given);
  return JSON.stringify(isWrapped ? given["schema"] : given);
}
