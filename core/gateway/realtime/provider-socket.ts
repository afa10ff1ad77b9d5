import { type Dialled, type Duplex, refusingDuplex } from "../../net/duplex.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { InboundResponse, Log, Platform, System } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { SocketRequest } from "../entry/front.ts";
import type { GatewayAccess } from "../entry/access.ts";
import { withFreshCaller } from "../entry/fresh-caller.ts";
import type { GatewayAdmission, AdmitOptions } from "../entry/admission.ts";
import { type AttemptOutcome, failureNote, providerFailed } from "../call/attempt.ts";
import type { Call, Step } from "../call/call.ts";
import { headerPairs } from "../wire/header-hygiene.ts";
import type { CallLimits } from "../account/keys/call-limits.ts";
import { modelName, queryModel } from "../providers/requested-model.ts";
import { type ConfiguredTargets, targetsOf } from "../providers/target.ts";
import type { LentAccount, Outbound } from "../call/outbound.ts";
import type { OwnTokens } from "../guard/tokens/own-token-guard.ts";
import type { Safety } from "../guard/checkers/safety.ts";
import type { GatewaySettings } from "../account/settings/settings.ts";
import type { Recorder, Recording } from "../call/recording.ts";
import { respond } from "../entry/respond.ts";
import { guardedClient } from "../guard/tokens/guarded-step.ts";
import { withTraceparent } from "../../trace/trace-context.ts";
import { tracedError } from "../entry/call-error.ts";
import { checkHandshake } from "../wire/websocket.ts";
import { type Offer, readOffer } from "./offer.ts";
import { realtimePath, realtimeTargets } from "./realtime-path.ts";
import { relay, type RelayOptions } from "./relay.ts";
import { sessionGate } from "./session-gate.ts";
import { messageText } from "./session-messages.ts";
import { namesModelLater, type SpendingSession, spendingSession } from "./spending-session.ts";
import { tally } from "./tally.ts";

const SOCKET: AdmitOptions = {
  takesBareToken: true,
  entry: { method: "GET", route: "/v1/:account_id/:gateway_id/:provider/*" },
};

/** Milliseconds that a provider may take to accept, unless the request says otherwise. */
const HANDSHAKE_MS = 30_000;

export interface ProviderSocketParts {
  readonly system: System;
  readonly log: Log;
  readonly webSockets: Platform["webSockets"];
  readonly admission: Pick<GatewayAdmission, "admit">;
  readonly access: OwnTokens & Pick<GatewayAccess, "refreshCaller">;
  readonly safetyOf: (settings: GatewaySettings) => Safety | null;
  /** Takes the tokens of ours out of a step. */
  readonly stripOwnTokens: (step: Step, call: Call) => Promise<Step> | Step;
  readonly targets: ConfiguredTargets;
  readonly prepare: (
    step: Step,
    call: Call,
    targets: ConfiguredTargets,
  ) => Promise<Outbound> | Outbound;
  readonly limits: CallLimits;
  readonly recorder: Pick<Recorder, "start">;
  readonly firstByteMs: number;
  readonly failureStatus: 502 | 400;
}

/** A connection that may be made. */
interface Admitted {
  readonly request: Request;
  readonly offer: Offer;
  readonly step: Step;
  readonly call: Call;
  readonly account: LentAccount | undefined;
  readonly record: Recording;
  readonly session: SpendingSession;
  readonly parts: ProviderSocketParts;
}

/**
 * Connects a client with a provider's WebSocket. The provider is asked first, so that its refusal is the answer
 * to the client's upgrade request; throws what `admit` throws, and `provider_failed` when no answer came.
 */
export async function providerSocket(
  asked: SocketRequest,
  parts: ProviderSocketParts,
): Promise<Response> {
  const { request, name } = asked;
  const headers = headerPairs(request);
  checkHandshake(headers);
  const offer = readOffer(headers, asked.segment);
  const call = await parts.admission.admit(name, offer.headers, request.signal, {
    ...SOCKET,
    client: request,
    query: asked.query,
  });
  try {
    return await opened(asked, offer, call, parts);
  } catch (error) {
    throw tracedError(call, error);
  }
}

async function opened(
  asked: SocketRequest,
  offer: Offer,
  call: Call,
  parts: ProviderSocketParts,
): Promise<Response> {
  const safety = parts.safetyOf(call.settings);
  if (safety !== null && !safety.blocks)
    parts.log("warn", "A WebSocket passes unchecked", { gateway: call.name.gateway });
  if (safety?.blocks === true) {
    throw new ApiError("scanner_unavailable", {
      message:
        "The checks of this gateway cannot read a WebSocket: use HTTP, or a gateway without checks",
    });
  }
  const path = realtimePath(asked.segment, asked.rest, asked.query);
  const { headers } = offer;
  const given: Step = { ...path, method: "GET", headers, body: null, isSocket: true };
  const step = await parts.stripOwnTokens(given, call);
  const targets = realtimeTargets(targetsOf(parts.targets, call.name), path.slug, path.rest);
  const { target, request: prepared, account } = await parts.prepare(step, call, targets);
  if (!/^(?:http|ws)s?:/.test(target.url)) {
    throw invalidRequest(`The provider "${path.slug.slice(0, 64)}" has no WebSocket`);
  }
  const foreign = await foreignProtocols(offer.protocols, call, parts);
  const protocols = foreign.filter((one) => account?.chooses(one) !== true);
  // When messages name the model, the provider ignores the one in the address.
  const model = namesModelLater(step) ? "" : modelOf(step);
  if (!namesModelLater(step)) parts.limits.checkModel(step, call, model);
  const refreshCall = (current: Call): Promise<Call> => withFreshCaller(current, parts.access);
  const session = await spendingSession(step, call, model, { ...parts, refreshCall });
  const record = parts.recorder.start(step, 0, call);
  const { request } = asked;
  const admitted: Admitted = { request, offer, step, call, account, record, session, parts };
  try {
    const dialled = await parts.webSockets.dial({
      url: target.url,
      headers:
        record.traceparent === undefined
          ? prepared.headers
          : withTraceparent(prepared.headers, record.traceparent),
      protocols,
      reach: target.custom === undefined ? "configured" : "public",
      timeoutMs: call.controls.requestTimeout ?? Math.min(HANDSHAKE_MS, parts.firstByteMs),
      signal: call.signal,
    });
    return connect(dialled, admitted);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    failed(error, admitted);
    throw providerFailed(error, step.slug, parts.failureStatus);
  }
}

/** Returns the subprotocols that hold no token of ours. */
async function foreignProtocols(
  protocols: readonly string[],
  call: Call,
  { access }: ProviderSocketParts,
): Promise<string[]> {
  const asked = access.asksHost ? await access.ask(protocols) : undefined;
  return protocols.filter((one) => !access.holdsOwnToken(one, call.token, asked));
}

function failed(answer: AttemptOutcome, { record, session }: Admitted): void {
  const ended =
    answer instanceof TransportError
      ? { status: null, complete: false, headers: [], note: failureNote(answer) }
      : { status: answer.status, complete: true, headers: answer.headers };
  const about = { modelType: "realtime", requestType: "websocket" };
  record.finish({ ...ended, seen: null, about });
  session.end();
}

function connect(dialled: Dialled, admitted: Admitted): Response {
  const { request, offer, call, account, record, parts } = admitted;
  if ("refusal" in dialled) {
    failed(dialled.refusal, admitted);
    return refuse(dialled.refusal, call, record, parts);
  }
  const { duplex: provider } = dialled;
  try {
    const protocol = offer.select(provider.protocol);
    const accepted = parts.webSockets.accept(request, protocol === null ? {} : { protocol });
    const client = guardedClient(accepted.duplex, call.token);
    run(account === undefined ? client : withinAccount(client, account), provider, admitted);
    call.traced?.answer({ logId: record.id, step: 0, reply: { status: 101 } });
    return accepted.response;
  } catch (error) {
    provider.close(1001, "The client went away");
    failed(new TransportError("aborted", "The client went away"), admitted);
    throw error;
  }
}

/** Answers a refused upgrade. A provider's error passes as it is; any other answer is a failure of the provider. */
function refuse(
  reply: InboundResponse,
  call: Call,
  record: Recording,
  parts: ProviderSocketParts,
): Response {
  if (reply.status >= 400 && reply.status <= 599) {
    const facts = { logId: record.id, step: 0, cached: false, failed: true, dlp: null };
    const forwarded = { reply, call, bringsKey: false, ...facts };
    call.traced?.answer(forwarded);
    return respond(forwarded);
  }
  throw new ApiError("provider_failed", {
    status: parts.failureStatus,
    message: `The provider answered ${reply.status} in place of a WebSocket`,
  });
}

/** Passes messages until the connection ends, and then writes its row. */
function run(
  client: Duplex,
  provider: Duplex,
  { step, call, record, session, parts }: Admitted,
): void {
  const { system } = parts;
  // A conversation is kept only on request: it may be hours of speech.
  const keep = call.controls.collectLogPayload === true ? record.keep : 0;
  const counted = tally({ model: modelOf(step), summary: record.keep > 0, keep });
  const gate = sessionGate({ client, provider, session, ...parts });
  const onMessage: RelayOptions["onMessage"] = (from, message) => {
    counted.add(from, message);
    return gate.mayPass(from, message);
  };
  const passing = relay({ client, provider, onMessage, system }).then((end) => {
    const result = counted.finish(end);
    const complete = end.code === 1000 || end.code === 1001 || end.code === 1005;
    gate.end();
    record.finish({ status: 101, complete, headers: [], ...result });
  });
  const over = Promise.all([passing, client.closed, provider.closed]).then(() => undefined);
  // Not from the beginning: on Workers background work is bounded in time, connections are not.
  const onClosing = (): void => {
    system.waitUntil(over);
  };
  system.closing?.addEventListener("abort", onClosing, { once: true });
  void over
    .catch((error: unknown) => {
      parts.log("error", "A realtime connection failed", { error: String(error) });
      client.close(1011, "Internal error");
      provider.close(1001, "The gateway failed");
    })
    .finally(() => system.closing?.removeEventListener("abort", onClosing));
}

function modelOf({ query, rest }: Step): string {
  return queryModel(query) || modelName(null, rest);
}

/** Returns a client's end that is closed with 1008 when a message asks for what its caller may not have. */
function withinAccount(client: Duplex, account: LentAccount): Duplex {
  return refusingDuplex(client, (message) => {
    const text = messageText(message);
    return text === null ? null : account.refused(text);
  });
}
