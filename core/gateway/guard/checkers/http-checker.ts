import { utf8 } from "../../../crypto/encoding.ts";
import { ApiError } from "../../../http/api-error.ts";
import { jsonObject, parsedObject } from "../../../http/json.ts";
import { bodyUpTo } from "../../../http/stream.ts";
import type { Platform } from "../../../ports.ts";
import { withinMs } from "../../../time/within-ms.ts";
import { type Checker, type CheckPhase, type CheckResult, clean } from "../detect/checker.ts";
import { unavailable } from "./judge.ts";

/** A checker on a server of the operator. */
export interface HttpCheckerOptions {
  /** Receives each text as a `POST`. */
  readonly url: string;
  /** Sent with each request. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The texts that it checks. @default both */
  readonly on?: readonly ("request" | "response")[] | undefined;
  /** Milliseconds within which the whole verdict has to be there, at most 60000. @default 5000 */
  readonly timeoutMs?: number | undefined;
  /** Treatment of a text without a verdict: under a policy that only flags it passes either way. @default "block" */
  readonly onFailure?: "block" | "allow" | undefined;
}

/** Characters of one text. */
const MOST = 1024 * 1024;
/** Milliseconds of one check. */
const TIMEOUT_MS = 5000;
/** Bytes of a verdict that are read. */
const ANSWER_LIMIT = 64 * 1024;
/** Characters of a reason: it travels in a header. */
const REASON = 200;

/**
 * Makes a checker that asks a server of yours, in the form of LiteLLM's Generic Guardrail API
 * (https://docs.litellm.ai/docs/adding_provider/generic_guardrail_api).
 *
 * @example
 * ```ts
 * import { gateway, httpChecker } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const words = httpChecker("words", { url: "http://127.0.0.1:9000/check" }, platform);
 * const app = gateway({ platform, checkers: { words } });
 * ```
 */
export function httpChecker(
  name: string,
  options: HttpCheckerOptions,
  { transport, system, log }: Pick<Platform, "transport" | "system" | "log">,
): Checker {
  const { url, on = ["request", "response"], timeoutMs = TIMEOUT_MS, onFailure } = options;
  const headers = { "content-type": "application/json", accept: "application/json" };
  const request = {
    method: "POST",
    url,
    headers: Object.entries({ ...headers, ...options.headers }),
  };
  const late = (): ApiError =>
    unavailable(`The checker "${name}" gave no verdict within ${timeoutMs} ms`);
  const ask = (text: string, phase: CheckPhase, signal: AbortSignal): Promise<CheckResult> =>
    withinMs({ ms: timeoutMs, signal, system, late }, async (limited) => {
      const body = utf8(JSON.stringify(questionOf(text, phase)));
      const answer = await transport.send({ ...request, body, signal: limited });
      const content = await bodyUpTo(answer.body, ANSWER_LIMIT);
      if (answer.status !== 200)
        throw unavailable(`The checker "${name}" answered ${answer.status}`);
      return verdictOf(new TextDecoder().decode(content ?? undefined), name);
    });
  return {
    async check(text, phase, signal) {
      if (text === "" || !on.includes(phase === "prompt" ? "request" : "response")) return clean;
      try {
        if (text.length > MOST)
          throw unavailable(
            `The text is longer than the checker "${name}" is sent (${MOST} characters)`,
          );
        return await ask(text, phase, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (onFailure !== "allow") throw asUnavailable(error, name);
        const { message } = asUnavailable(error, name);
        log("warn", "A text passed without its check", { checker: name, phase, error: message });
        return clean;
      }
    },
  };
}

/** Servers of that API take no request without the last two members. */
function questionOf(text: string, phase: CheckPhase): object {
  return {
    texts: [text],
    input_type: phase === "prompt" ? "request" : "response",
    request_data: {},
    additional_provider_specific_params: {},
  };
}

/** Reads a verdict; Portkey's webhooks say `verdict: false`, where others name an action. */
function verdictOf(content: string, name: string): CheckResult {
  const answer = parsedObject(content) ?? {};
  const { action, verdict, reason, blocked_reason: blockedReason, data } = answer;
  const said = action ?? verdict;
  if (said === true || said === "allow" || said === "NONE") return clean;
  const isFlag = said === "flag";
  // Its own texts cannot take the place of these, so it counts as a refusal.
  const blocks =
    said === false || said === "block" || said === "BLOCKED" || said === "GUARDRAIL_INTERVENED";
  if (!isFlag && !blocks) throw unavailable(`The checker "${name}" answered without a verdict`);
  const why = [reason, blockedReason, jsonObject(data)["reason"]].find(
    (text) => typeof text === "string" && text !== "",
  );
  const finding = {
    type: name,
    count: 1,
    ...(typeof why === "string" && { reason: why.slice(0, REASON) }),
    ...(isFlag && { onlyFlags: true }),
  };
  return { action: isFlag ? "flag" : "block", findings: [finding] };
}

function asUnavailable(error: unknown, name: string): ApiError {
  if (error instanceof ApiError && error.kind === "scanner_unavailable") return error;
  const why = error instanceof Error ? error.message : "";
  return unavailable(`The checker "${name}" could not be asked: ${why}`, error);
}
