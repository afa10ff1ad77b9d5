import * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import { parse, parseJson, readBytes } from "../http/body.ts";
import { utf8 } from "../crypto/encoding.ts";
import type { HeaderPair } from "../ports.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { isVerdict } from "./checkers/inspect.ts";
import { compatStep } from "./compat.ts";
import { type Controls, parseControls } from "./controls.ts";
import { forwardAny } from "./dynamic/forward-route.ts";
import type { Forwarded } from "./forward.ts";

/** Bytes of a universal request: the JSON bodies of all its steps. */
const BODY_LIMIT = 10 * 1024 * 1024;
const STEP_LIMIT = 20;

const stepSchema = v.looseObject({
  provider: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  endpoint: v.pipe(v.string(), v.maxLength(4096)),
  headers: v.nullish(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
  query: v.nullish(v.unknown()),
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

/** Reads the steps of a universal request. */
export async function readSteps(request: Request): Promise<Step[]> {
  return toSteps(parseJson(await readBytes(request, BODY_LIMIT)));
}

/** Checks the steps of a universal request; a misfit is a 400 that names it. */
export function toSteps(value: unknown): Step[] {
  return parse(stepsSchema, value).map((step): Step => {
    const given = Object.entries(step.headers ?? {}).map(([name, text]) =>
      header(name, String(text)),
    );
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
      body: utf8(JSON.stringify(step.query ?? {})),
      controls: { ...parseControls(headers), ...fromConfig(step.config ?? {}) },
    };
    return step.provider === "compat" ? compatStep(made) : made;
  });
}

/** A header of a step is data: what could break out of a header line is refused here. */
function header(name: string, value: string): HeaderPair {
  if (!/^[\w!#$%&'*+.^`|~-]{1,256}$/.test(name) || /[\0\r\n]/.test(value)) {
    throw new ApiError("invalid_request", {
      message: `"${name.slice(0, 64)}" is not a valid header`,
    });
  }
  return [name.toLowerCase(), value];
}

/** The keys of a step's `config` are the headers of the same names in camel case. */
function fromConfig(config: Readonly<Record<string, unknown>>): Controls {
  const pairs = Object.entries(config)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]): HeaderPair => [
      `cf-aig-${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      String(value),
    ]);
  return parseControls(pairs);
}

/** Tries the steps in order until one succeeds; when none does, the last one's answer is the answer. */
export async function forwardSteps(
  steps: readonly Step[],
  call: Call,
  deps: GatewayDeps,
): Promise<Forwarded> {
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    const forwarded = await tryStep(step, index, isLast, call, deps);
    if (forwarded === null) continue;
    if (isLast || !forwarded.failed) return forwarded;
    const { body } = forwarded.reply;
    if (body instanceof ReadableStream)
      deps.platform.system.waitUntil(body.cancel().catch(() => undefined));
  }
  throw new ApiError("provider_failed", { status: deps.failureStatus });
}

/** Null when the step has no answer and another one may take over. */
async function tryStep(
  step: Step,
  index: number,
  isLast: boolean,
  call: Call,
  deps: GatewayDeps,
): Promise<Forwarded | null> {
  try {
    return await forwardAny(step, index, isLast, call, deps);
  } catch (error) {
    if (isLast || call.signal.aborted || !(error instanceof ApiError)) throw error;
    // Another provider must not get what a check held back.
    if (isVerdict(error)) throw error;
    return null;
  }
}
