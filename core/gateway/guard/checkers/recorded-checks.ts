import { ApiError } from "../../../http/api-error.ts";
import type { BodyBudget } from "../../../work/body-budget.ts";
import type { Call, Step } from "../../call/call.ts";
import { type Checks, type HeldReply, isVerdict, type MaskedRequest } from "../../call/checks.ts";
import type { Outbound } from "../../call/outbound.ts";
import {
  collectsLog,
  type Observation,
  type Recorder,
  type Recording,
} from "../../call/recording.ts";
import { observer, type Reading } from "../../metering/usage/observer.ts";
import { credentialHeaders, providerRow } from "../../providers/known/table.ts";
import type { ContentDecoding } from "../../../http/body/content-decoder.ts";
import { headerValue, isSecretHeader, requestHygiene } from "../../wire/header-hygiene.ts";
import { ownHeaders } from "../../wire/own-headers.ts";
import { decodedValue } from "../../wire/own-tokens.ts";
import { unmaskedAnswer } from "../mask/unmasked-answer.ts";
import { joinReports } from "./inspect.ts";
import type { Safety } from "./safety.ts";

export interface CheckParts extends Reading {
  readonly bodies: BodyBudget;
  readonly recorder: Pick<Recorder, "start">;
}

/** Makes the checks of a gateway, which leave a row for each text that they block. */
export function recordedChecks(safety: Safety, parts: CheckParts): Checks {
  const { bodies, decoding, recorder } = parts;
  const { mask } = safety;
  const checks: Checks = {
    readable: (prepared) => (safety.checksReplies ? withoutEncodings(prepared) : prepared),
    mask:
      mask === null
        ? null
        : async (given, call) => {
            const { step, names, report } = await mask(given, call.signal);
            if (report === null) return { step, checks, restore: (answer) => answer };
            const own: Checks = {
              ...checks,
              masked: report,
              readable: withoutEncodings,
              prompt: async (...asked) => joinReports(report, await checks.prompt(...asked)),
            };
            const restore: MaskedRequest["restore"] = (answer) =>
              unmaskedAnswer(answer, names, decoding);
            return { step, checks: own, restore };
          },
    async prompt(step, index, call) {
      try {
        const { headers, body } = step;
        const beside = (): string[] => textsBeside(step, decoding);
        return await safety.prompt({ headers, body, beside }, call.signal);
      } catch (error) {
        if (!isVerdict(error)) throw error;
        throw recordVerdict(error, recorder.start(step, index, call), null, call).error;
      }
    },
    async reply(answer, flagged, record, call) {
      const held = bodies.hold();
      const checked = await safety.reply(answer, call.signal, held).finally(() => held.release());
      if (checked.blocked === null) {
        return { answer: checked.answer, report: joinReports(flagged, checked.report) };
      }
      const { headers, body } = checked.answer;
      const type = headerValue(headers, "content-type") ?? "";
      const watch = observer(parts, {
        contentType: type,
        contentEncoding: headerValue(headers, "content-encoding") ?? "",
        keep: 0,
      });
      if (body instanceof Uint8Array) watch.push(body);
      return recordVerdict(checked.blocked, record, await watch.finish(), call);
    },
  };
  return checks;
}

/** The request without the encodings in which an answer could not be read. */
function withoutEncodings(prepared: Outbound): Outbound {
  const headers = prepared.request.headers.filter(([name]) => name !== "accept-encoding");
  return { ...prepared, request: { ...prepared.request, headers } };
}

/** Lists the texts that a provider reads beside the body, except credentials and headers about the transfer. */
function textsBeside({ slug, rest, query, headers }: Step, decoding: ContentDecoding): string[] {
  const own = providerRow(slug)?.queryCredentials;
  const texts = [decodedValue(rest)];
  for (const [name, value] of new URLSearchParams(query)) {
    if (own?.includes(name) !== true && !isSecretHeader(name.toLowerCase()))
      texts.push(name, value);
  }
  for (const [name, value] of requestHygiene(headers, decoding)) {
    if (!credentialHeaders.has(name) && !isSecretHeader(name)) texts.push(value);
  }
  return texts.filter((text) => text !== "");
}

function recordVerdict(
  verdict: ApiError,
  record: Recording,
  seen: Observation | null,
  call: Call,
): HeldReply {
  const { options, kind, message } = verdict;
  const isGuardrail = kind === "prompt_blocked" || kind === "response_blocked";
  const status = (isGuardrail ? call.blockedStatus : undefined) ?? verdict.status;
  const isDlp = kind === "request_dlp_blocked" || kind === "response_dlp_blocked";
  const cost = record.finish({
    status,
    complete: false,
    headers: [],
    seen,
    dlp: isDlp ? { action: "BLOCK", findings: [] } : null,
    note: message,
    blocked: true,
  });
  const headers = Object.fromEntries([
    ...ownHeaders("event-id", call.eventId),
    ...(collectsLog(call) ? ownHeaders("log-id", record.id) : []),
  ]);
  const error = new ApiError(kind, {
    ...options,
    message,
    status,
    headers: { ...options.headers, ...headers },
  });
  return { error, cost };
}
