import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair, InboundResponse, Log, System } from "../../ports.ts";
import { type ContentDecoding, contentDecoding } from "../usage/content-decoder.ts";
import { headerValue } from "../header-hygiene.ts";
import { collected, decoded, encodingOf, isText } from "./body-bytes.ts";
import { bodyText } from "./body-text.ts";
import type { CheckPhase } from "./checker.ts";
import { inTime } from "./in-time.ts";
import { type DlpReport, inspect, isVerdict } from "./inspect.ts";
import { unavailable } from "./judge.ts";
import { policiesOf, type Policy, type SafetyOptions, type SafetySettings } from "./policies.ts";
import type { Scope } from "./text.ts";

/** The body of a request as it goes out. */
export interface Prompt {
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** An answer that was looked at, and what was found in it. */
export interface CheckedReply {
  /** With its whole body when that was collected. */
  readonly answer: InboundResponse;
  readonly report: DlpReport | null;
  /** The verdict that holds the answer back, see `inspect`. */
  readonly blocked: ApiError | null;
}

/** The checks of one gateway. */
export interface Safety {
  /** Whether answers are checked: then they must come in a readable encoding. */
  readonly checksReplies: boolean;
  /** Whether anything may be held back: then nothing passes that cannot be checked. */
  readonly blocks: boolean;
  /** Checks what goes to the provider; see `inspect` for what it throws. */
  prompt(prompt: Prompt, signal: AbortSignal): Promise<DlpReport | null>;
  /**
   * Checks an answer as a whole: a stream is collected first, for what was sent cannot be taken back.
   * Rejects with `TransportError` when the answer breaks off.
   */
  reply(answer: InboundResponse, signal: AbortSignal): Promise<CheckedReply>;
}

/** The checks that a gateway's settings ask for, or null when there are none; with a `system` none takes for ever. */
export function safetyOf(
  settings: SafetySettings,
  options: SafetyOptions,
  log: Log,
  decoding: ContentDecoding = contentDecoding({}),
  system?: System,
): Safety | null {
  if (settings.guardrails == null && settings.dlp == null) return null;
  const bounded = boundedBy(system);
  const prompts = policiesOf(settings, "prompt", options).map(bounded);
  const replies = policiesOf(settings, "response", options).map(bounded);
  if (prompts.length === 0 && replies.length === 0) return null;
  return {
    checksReplies: replies.length > 0,
    blocks: canBlock([...prompts, ...replies]),
    async prompt({ headers, body }, signal) {
      const type = headerValue(headers, "content-type") ?? "";
      if (prompts.length === 0 || body === null) return null;
      // What the bytes are says more than their declared type.
      if (body instanceof Uint8Array)
        return check({ body, headers, phase: "prompt", policies: prompts, signal, log, decoding });
      if (!isText(type)) return null;
      if (canBlock(prompts)) throw tooLargeToCheck();
      log("warn", "A request body streams through unchecked", {});
      return null;
    },
    async reply(answer, signal) {
      const { headers } = answer;
      const type = headerValue(headers, "content-type") ?? "";
      const skip = replies.length === 0 || answer.status >= 400 || answer.body === null;
      if (skip || !isText(type)) return { answer, report: null, blocked: null };
      const body = await collected(answer.body);
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
        const checks = {
          body,
          headers,
          phase: "response",
          policies: replies,
          signal,
          log,
          decoding,
        } as const;
        return { answer: whole, report: await check(checks), blocked: null };
      } catch (error) {
        if (isVerdict(error)) return { answer: whole, report: null, blocked: error };
        throw error;
      }
    },
  };
}

function boundedBy(system: System | undefined): (policy: Policy) => Policy {
  return (policy) =>
    system === undefined || policy.checker === null
      ? policy
      : { ...policy, checker: inTime(policy.checker, system) };
}

function canBlock(policies: readonly Policy[]): boolean {
  return policies.some(({ blocks }) => blocks);
}

interface Check {
  readonly body: Uint8Array;
  readonly headers: readonly HeaderPair[];
  readonly phase: CheckPhase;
  readonly policies: readonly Policy[];
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly decoding: ContentDecoding;
}

async function check({
  body,
  headers,
  phase,
  policies,
  signal,
  log,
  decoding,
}: Check): Promise<DlpReport | null> {
  const encoding = encodingOf(headers);
  const bytes = await decoded(body, encoding, decoding);
  if (bytes === null) {
    if (canBlock(policies))
      throw unavailable(`A body in the encoding "${encoding}" cannot be checked`);
    log("warn", "A body in an unknown encoding passes unchecked", { encoding });
    return null;
  }
  const type = headerValue(headers, "content-type") ?? "";
  const ask = async (kind: Policy["kind"], scope: Scope): Promise<DlpReport | null> => {
    const some = policies.filter((policy) => policy.kind === kind);
    const text = some.length === 0 ? null : bodyText(bytes, type, scope);
    return text === null ? null : inspect(text, phase, some, signal, log);
  };
  // DLP looks at everything that leaves, the judge at the conversation. Patterns first: they are quick,
  // and what they hold back the judge need not see.
  const report = await ask("dlp", "all");
  await ask("guardrails", "spoken");
  return report;
}

function tooLargeToCheck(): ApiError {
  return new ApiError("too_large", {
    message: "The request body is too large to be checked, and a policy of this gateway blocks",
  });
}
