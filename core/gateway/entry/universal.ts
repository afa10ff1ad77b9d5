import { notArray } from "../../http/fields/schema-fields.ts";
import * as v from "valibot";
import type { BodyHold } from "../../work/body-budget.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { parse, parseJson, readBytes } from "../../http/fields/body.ts";
import type { HeaderPair, System } from "../../ports.ts";
import type { Call, Step } from "../call/call.ts";
import { type OperatorNames, unifiedStep } from "../providers/unified-step.ts";
import { chatObject } from "../chat/chat-body.ts";
import { jsonBody } from "../wire/readable-body.ts";
import { type Controls, parseControls } from "../call/controls.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { isGatewayHeader } from "../wire/header-hygiene.ts";
import type { Forward } from "../call/forward.ts";
import { askInOrder } from "../call/fallback.ts";
import type { ModelPools } from "../routing/pools/model-pools.ts";
import { weightOf } from "../../http/arriving-body.ts";

/** Bytes of a universal request: the JSON bodies of all its steps. */
export const BODY_LIMIT: number = 10 * 1024 * 1024;
const STEP_LIMIT = 20;

const stepSchema = v.looseObject({
  provider: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  endpoint: v.pipe(v.string(), v.maxLength(4096)),
  headers: v.nullish(
    v.pipe(notArray, v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
  ),
  query: v.nullish(v.unknown()),
  /** The credential of steps from before they had headers. */
  authorization: v.nullish(v.string()),
  config: v.nullish(
    v.looseObject({
      requestTimeout: v.nullish(v.number()),
      maxAttempts: v.nullish(v.number()),
      retryDelay: v.nullish(v.number()),
      backoff: v.nullish(v.string()),
      cacheTtl: v.nullish(v.number()),
      skipCache: v.nullish(v.boolean()),
    }),
  ),
});
const stepsSchema = v.pipe(
  v.array(stepSchema, "expected an array of steps"),
  v.minLength(1, "expected at least one step"),
  v.maxLength(STEP_LIMIT, `at most ${STEP_LIMIT} steps are allowed`),
);

export async function readSteps(
  request: Request,
  held: BodyHold,
  system: System,
  names?: OperatorNames,
): Promise<Step[]> {
  const take = (bytes: number): boolean => held.take(weightOf(bytes, true));
  const clear = (): void => held.clear();
  return toSteps(parseJson(await readBytes(request, BODY_LIMIT, { system, take, clear })), names);
}

/** Checks the steps of a universal request; a misfit is a 400 that names it. `names` are the operator's for models. */
export function toSteps(value: unknown, names?: OperatorNames): Step[] {
  return parse(stepsSchema, value).map((step): Step => {
    const given = headersOf(step.headers ?? {}, step.authorization);
    const hasType = given.some(([name]) => name === "content-type");
    const headers: HeaderPair[] = hasType
      ? given
      : [...given, ["content-type", "application/json"]];
    const [rest = "", ...query] = step.endpoint.replace(/^\/+/, "").split("?");
    const made: Step = {
      slug: step.provider,
      rest,
      query: query.length === 0 ? "" : `?${query.join("?")}`,
      method: "POST",
      headers,
      body: null,
      controls: { ...parseControls(headers), ...fromConfig(step.config ?? {}) },
    };
    const asked = step.query ?? {};
    return step.provider === "compat"
      ? unifiedStep(made, () => chatObject(asked), names)
      : { ...made, ...jsonBody(asked) };
  });
}

/** Characters of one header of a step: as much as servers take of all headers together. */
const HEADER_LIMIT = 16 * 1024;

/**
 * Returns the headers of a step. They are data, so what no header line can hold is refused here (RFC 9110, section 5.5),
 * and what would be ambiguous: one name in two letter cases. The gateway's own never stand in a line: they may hold any
 * text.
 */
function headersOf(
  given: Readonly<Record<string, string | number | boolean>>,
  authorization: string | null | undefined,
): HeaderPair[] {
  const pairs = Object.entries(given).map(([name, raw]) => headerOf(name, String(raw)));
  const names = new Set<string>();
  for (const [name] of pairs) {
    if (!names.has(name)) names.add(name);
    else throw invalidRequest(`The header "${name.slice(0, 64)}" is given twice`);
  }
  if (authorization == null || names.has("authorization")) return pairs;
  return [...pairs, headerOf("authorization", authorization)];
}

function headerOf(given: string, value: string): HeaderPair {
  const name = given.toLowerCase();
  const isName = /^[\w!#$%&'*+.^`|~-]{1,256}$/.test(name);
  const values = isGatewayHeader(name)
    ? /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u
    : /^[\t\x20-\x7e\x80-\xff]*$/;
  if (isName && value.length <= HEADER_LIMIT && values.test(value)) return [name, value];
  throw invalidRequest(`"${given.slice(0, 64)}" is not a valid header`);
}

/** The keys of a step's `config` are the headers of the same names in camel case. */
function fromConfig(config: Readonly<Record<string, unknown>>): Controls {
  const pairs = Object.entries(config)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]): HeaderPair => [
      `cf-aig-${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
  return parseControls(pairs);
}

export interface StepsParts {
  readonly answer: Forward;
  /** The operator's names for models. */
  readonly pools: ModelPools;
  readonly system: System;
  /** The status of error 2005. */
  readonly failureStatus: 502 | 400;
}

/** Tries the steps in order until one succeeds; when all fail, answers with the last one's answer. */
export function forwardSteps(
  steps: readonly Step[],
  call: Call,
  { answer, system, failureStatus }: StepsParts,
): Promise<Forwarded> {
  const ask = (step: Step, index: number): Promise<Forwarded> =>
    answer(step, index, index === steps.length - 1, call);
  const none = (): ApiError => new ApiError("provider_failed", { status: failureStatus });
  return askInOrder(steps, ask, call, { system, none });
}
