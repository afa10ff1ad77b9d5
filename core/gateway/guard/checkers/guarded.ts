import { ApiError } from "../../../http/api-error.ts";
import type { InboundResponse } from "../../../ports.ts";
import type { Call, GatewayDeps, Step } from "../../call/call.ts";
import { headerValue, requestHygiene } from "../../wire/header-hygiene.ts";
import { isSecretHeader } from "../../manage/custom-provider.ts";
import { credentialHeaders, providers } from "../../providers/table.ts";
import { decodedValue } from "../tokens/own-tokens.ts";
import { type Observation, observer } from "../../observe/usage/observer.ts";
import type { Outbound } from "../../call/outbound.ts";
import { ownHeaders } from "../../wire/own-headers.ts";
import { collectsLog, type Recording, startRecord } from "../../observe/log/record.ts";
import { type DlpReport, isVerdict } from "./inspect.ts";
import type { Safety } from "./safety.ts";

/** The request without the encodings in which an answer could not be checked. */
export function readable(prepared: Outbound, safety: Safety | null): Outbound {
  if (safety === null || !safety.checksReplies) return prepared;
  const headers = prepared.request.headers.filter(([name]) => name !== "accept-encoding");
  return { ...prepared, request: { ...prepared.request, headers } };
}

/** Has a step's body pass the gateway's checks; a verdict leaves a row of its own and is thrown. */
export async function checkPrompt(
  safety: Safety,
  step: Step,
  index: number,
  call: Call,
  deps: GatewayDeps,
): Promise<DlpReport | null> {
  try {
    const { headers, body } = step;
    return await safety.prompt(
      { headers, body, beside: () => textsBeside(step, deps) },
      call.signal,
    );
  } catch (error) {
    if (!isVerdict(error)) throw error;
    throw recordVerdict(error, startRecord(step, index, call, deps), null, call).error;
  }
}

/** What a provider reads beside the body, but for credentials and what only says how to send it. */
function textsBeside({ slug, rest, query, headers }: Step, { decoding }: GatewayDeps): string[] {
  const own = Object.hasOwn(providers, slug) ? providers[slug]?.queryCredentials : undefined;
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

/** An answer that may pass. */
export interface PassedReply {
  readonly answer: InboundResponse;
  readonly report: DlpReport | null;
}

/** An answer that is held back, with what it has cost all the same. */
export interface HeldReply {
  readonly error: ApiError;
  readonly cost: number | null;
}

/** Has an answer pass the gateway's checks. Rejects with `TransportError` when it breaks off meanwhile. */
export async function checkReply(
  safety: Safety,
  answer: InboundResponse,
  record: Recording,
  call: Call,
  deps: GatewayDeps,
): Promise<PassedReply | HeldReply> {
  const held = deps.bodies.hold();
  const checked = await safety.reply(answer, call.signal, held).finally(() => held.release());
  if (checked.blocked === null) return checked;
  const { headers, body } = checked.answer;
  const watch = observer(
    headerValue(headers, "content-type") ?? "",
    headerValue(headers, "content-encoding") ?? "",
    0,
    deps,
  );
  if (body instanceof Uint8Array) watch.push(body);
  return recordVerdict(checked.blocked, record, await watch.finish(), call);
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
    dlpAction: isDlp ? "BLOCK" : null,
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
