import type { BodyHold } from "../../../work/body-budget.ts";
import { ApiError, invalidRequest } from "../../../http/api-error.ts";
import type { HeaderPair, InboundResponse, Log, System } from "../../../ports.ts";
import { type ContentDecoding, contentDecoding } from "../../../http/body/content-decoder.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { collected, decoded, encodingOf, isText } from "../../wire/body-bytes.ts";
import { readBodyText } from "../text/body-text.ts";
import type { CheckPhase, Checker, CheckResult } from "../detect/checker.ts";
import { inspect, type Inspection, joinReports, reportOf } from "./inspect.ts";
import { isVerdict } from "../../call/checks.ts";
import type { DlpReport } from "../../call/forwarded.ts";
import type { Step } from "../../call/call.ts";
import { isRestorable, maskStep } from "../mask/mask-step.ts";
import { type Placeholders, placeholders } from "../mask/placeholders.ts";
import { unavailable } from "./judge.ts";
import {
  policiesOf,
  type CheckPolicy,
  type SafetyOptions,
  type SafetySettings,
} from "./policies.ts";
import type { Scope } from "../text/json-texts.ts";
import { visibleText } from "../detect/plain-form.ts";
import { inSlices, type Slices } from "../text/slices.ts";
import { TIMER_OVER } from "../../../time/timer-over.ts";

export interface CheckedPrompt {
  /** As they describe the body; {@link CheckedPrompt.beside} has what is checked of them. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /**
   * Returns the other texts that the provider reads: path, query and headers, one each. Called where DLP asks. @default
   * nothing
   */
  readonly beside?: () => readonly string[];
}

/** An answer that was looked at, and what was found in it. */
export interface CheckedReply {
  /** With its whole body when that was collected. */
  readonly answer: InboundResponse;
  readonly report: DlpReport | null;
  /** The verdict that holds the answer back, see `inspect`. */
  readonly blocked: ApiError | null;
}

export interface MaskedStep {
  readonly step: Step;
  readonly names: Placeholders;
  /** Null where nothing was found. */
  readonly report: DlpReport | null;
}

export interface Safety {
  /** Whether answers are checked: then they must come in a readable encoding. */
  readonly checksReplies: boolean;
  /** Masks what goes to the provider; null where nothing is to be masked. */
  readonly mask: ((step: Step, signal: AbortSignal) => Promise<MaskedStep>) | null;
  /** Whether anything may be held back: then nothing passes that cannot be checked. */
  readonly blocks: boolean;
  /** Checks what goes to the provider; see `inspect` for what it throws. */
  prompt(prompt: CheckedPrompt, signal: AbortSignal): Promise<DlpReport | null>;
  /**
   * Checks an answer as a whole: a stream is collected first, for what was sent cannot be taken back.
   * Rejects with `TransportError` when the answer breaks off, with `bodies_full` when `held` has no room for it.
   */
  reply(answer: InboundResponse, signal: AbortSignal, held?: BodyHold): Promise<CheckedReply>;
}

/** Log, decoding and clock of the safety checks. */
export interface SafetyDeps {
  readonly log: Log;
  readonly decoding?: ContentDecoding | undefined;
  readonly system?: System | undefined;
}

/** Makes the checks that a gateway's settings ask for, or null without any; with a `system` each has a deadline. */
export function safetyOf(
  settings: SafetySettings,
  options: SafetyOptions,
  { log, decoding = contentDecoding({}), system }: SafetyDeps,
): Safety | null {
  if (settings.guardrails == null && settings.dlp == null) return null;
  const bounded = boundedBy(system);
  const prompts = policiesOf(settings, "prompt", options).map(bounded);
  const replies = policiesOf(settings, "response", options).map(bounded);
  if (prompts.length === 0 && replies.length === 0) return null;
  const inspection = (signal: AbortSignal): Inspection & { decoding: ContentDecoding } => ({
    signal,
    log,
    decoding,
    pause: system === undefined ? undefined : () => system.sleep(0, signal),
  });
  return {
    checksReplies: replies.length > 0,
    mask: masker(prompts, inspection),
    blocks: canBlock([...prompts, ...replies]),
    prompt: (prompt, signal) => checkPrompt(prompt, prompts, inspection(signal)),
    async reply(answer, signal, held) {
      const { headers } = answer;
      const type = headerValue(headers, "content-type") ?? "";
      const skip = replies.length === 0 || answer.status >= 400 || answer.body === null;
      if (skip || !isText(type)) return { answer, report: null, blocked: null };
      const body = await collected(answer.body, held);
      if (!(body instanceof Uint8Array) && !canBlock(replies)) {
        log("warn", "An answer is too long to be checked and passes unchecked", {});
        return { answer: { ...answer, body }, report: null, blocked: null };
      }
      const whole = { ...answer, body: body instanceof Uint8Array ? body : null };
      try {
        if (!(body instanceof Uint8Array)) {
          await body.cancel().catch(() => undefined);
          throw unavailable("The answer is too long to be checked");
        }
        const checks = { body, headers, phase: "response", policies: replies } as const;
        const report = await check({ ...checks, ...inspection(signal) });
        return { answer: whole, report, blocked: null };
      } catch (error) {
        if (isVerdict(error)) return { answer: whole, report: null, blocked: error };
        throw error;
      }
    },
  };
}

function masker(
  policies: readonly CheckPolicy[],
  inspection: (signal: AbortSignal) => Inspection,
): Safety["mask"] {
  const masking = policies.filter(({ masks = [] }) => masks.length > 0);
  if (masking.length === 0) return null;
  const patterns = [...new Set(masking.flatMap(({ masks = [] }) => masks))];
  return async (step, signal) => {
    const names = placeholders();
    // Unmasked, whatever is found in it is held back.
    if (!isRestorable(step)) return { step, names, report: null };
    const masked = await maskStep(
      step,
      { patterns, placeholders: names },
      inspection(signal).pause,
    );
    const report = masking.reduce<DlpReport | null>((sum, policy) => {
      const found = (policy.masks ?? []).flatMap(({ type }) => {
        const count = names.counts.get(type) ?? 0;
        return count === 0 ? [] : [{ type, count }];
      });
      return found.length === 0 ? sum : joinReports(sum, reportOf(policy, "prompt", found, "MASK"));
    }, null);
    return { step: masked, names, report };
  };
}

async function checkPrompt(
  { headers, body, beside }: CheckedPrompt,
  policies: readonly CheckPolicy[],
  inspection: Inspection & { decoding: ContentDecoding },
): Promise<DlpReport | null> {
  if (policies.length === 0) return null;
  const checks = { ...inspection, headers, beside, phase: "prompt", policies } as const;
  // A buffered body is checked by its bytes, whatever type it declares.
  if (!(body instanceof ReadableStream)) return check({ ...checks, body });
  if (isText(headerValue(headers, "content-type") ?? "")) {
    if (canBlock(policies)) throw tooLargeToCheck();
    inspection.log("warn", "A request body streams through unchecked", {});
  }
  return check({ ...checks, body: null });
}

function boundedBy(system: System | undefined): (policy: CheckPolicy) => CheckPolicy {
  return (policy) =>
    system === undefined || policy.checker === null
      ? policy
      : { ...policy, checker: boundedChecker(policy.checker, system) };
}

function canBlock(policies: readonly CheckPolicy[]): boolean {
  return policies.some(({ blocks }) => blocks);
}

interface Check extends Inspection {
  readonly beside?: CheckedPrompt["beside"] | undefined;
  readonly body: Uint8Array | null;
  readonly headers: readonly HeaderPair[];
  readonly phase: CheckPhase;
  readonly policies: readonly CheckPolicy[];
  readonly decoding: ContentDecoding;
}

async function check(given: Check): Promise<DlpReport | null> {
  const { body, headers, phase, policies, log, decoding, pause } = given;
  const encoding = encodingOf(headers);
  const bytes = body === null ? body : await decoded(body, encoding, decoding);
  if (bytes === null && body !== null) {
    if (canBlock(policies))
      throw unavailable(`A body in the encoding "${encoding}" cannot be checked`);
    log("warn", "A body in an unknown encoding passes unchecked", { encoding });
  }
  const ask = async (kind: CheckPolicy["kind"], scope: Scope): Promise<DlpReport | null> => {
    const some = policies.filter((policy) => policy.kind === kind);
    if (some.length === 0) return null;
    const found = bytes === null ? null : await inSlices(readable(bytes, scope, given), pause);
    const others = kind === "dlp" ? (given.beside?.() ?? []) : [];
    if (found === null && others.length === 0) return null;
    const text = [...(found === null ? [] : [found]), ...others].join("\n");
    const plain = kind === "dlp" ? await inSlices(visibleText(text), pause) : text;
    return inspect(plain, phase, some, given);
  };
  // DLP looks at everything that leaves, the judge at the conversation. Patterns first: they are quick,
  // and what they hold back the judge need not see.
  const report = await ask("dlp", "all");
  await ask("guardrails", "spoken");
  return report;
}

/** Returns the text of a body. Throws `invalid_request` for a request that its provider could read in another way. */
function* readable(bytes: Uint8Array, scope: Scope, given: Check): Slices<string | null> {
  const { headers, phase, policies } = given;
  const type = headerValue(headers, "content-type") ?? "";
  const { text, duplicate, isJson } = yield* readBodyText(bytes, type, scope);
  if (phase === "response") return text;
  if (duplicate !== null)
    throw uncheckable(
      `the member "${duplicate}" is there twice, and parsers differ in which they read`,
    );
  if (!isJson && JSON_TYPE.test(type) && bytes.length > 0 && canBlock(policies))
    throw uncheckable("it is declared as JSON and is not valid JSON");
  return text;
}

/** JSON as such, not a list of documents. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

function uncheckable(why: string): ApiError {
  return invalidRequest(
    `This gateway checks what is sent, and this body cannot be checked: ${why}`,
  );
}

function tooLargeToCheck(): ApiError {
  return new ApiError("too_large", {
    message: "The request body is too large to be checked, and a policy of this gateway blocks",
  });
}

/** Milliseconds that one check may take: a judge of a long text is asked several times. */
const CHECK_MS = 60_000;

/**
 * Wraps a checker so that it rejects with `scanner_unavailable` when it takes too long: a request must not wait for ever
 * for a judge.
 */
export function boundedChecker(checker: Checker, system: System): Checker {
  return {
    check(text, phase, signal, pause) {
      const late = new AbortController();
      const result = checker.check(text, phase, AbortSignal.any([signal, late.signal]), pause);
      return result instanceof Promise ? race(result, late, phase, system) : result;
    },
  };
}

async function race(
  result: Promise<CheckResult>,
  late: AbortController,
  phase: CheckPhase,
  system: System,
): Promise<CheckResult> {
  const over = new AbortController();
  const limit = system.sleep(CHECK_MS, over.signal).then((): never => {
    const error = unavailable(`The check of the ${phase} took more than ${CHECK_MS / 1000} s`);
    late.abort(error);
    throw error;
  });
  // It rejects as well when it is called off.
  limit.catch(() => undefined);
  try {
    return await Promise.race([result, limit]);
  } finally {
    over.abort(TIMER_OVER);
  }
}
