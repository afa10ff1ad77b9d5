import { whenReady } from "../../work/now-or-later.ts";
import type { HeaderPair, InboundResponse, Platform } from "../../ports.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Call, Step } from "../call/call.ts";
import { choosesAccount, headerValue, requestHygiene } from "../wire/header-hygiene.ts";
import { checkReach, refusedMessage } from "./reach/check-reach.ts";
import { ECHO, isLocal } from "./known/table.ts";
import { signing } from "./clouds/bedrock.ts";
import type { AccessTokens } from "./clouds/access-tokens.ts";
import {
  addsSecret,
  checkStranger,
  type Credential,
  withCredential,
  withProviderHeaders,
} from "./credential.ts";
import type { CustomTarget, StoredProviders } from "../account/records/stored-providers.ts";
import type { Provider } from "./known/provider.ts";
import { type ConfiguredTargets, movedTo, type ProviderTarget, resolveTarget } from "./target.ts";
import type { SpokenFormats } from "./spoken-formats.ts";
import { askingBody, isEncoding, unasked, type UsageQuestion } from "./stream-usage.ts";
import type { LentAccount, Outbound } from "../call/outbound.ts";

import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import { echoTransport } from "./echo.ts";

export interface OutboundParts extends UsageQuestion {
  readonly platform: Pick<Platform, "transport" | "egress" | "system">;
  readonly targets: ConfiguredTargets;
  /** Keys and custom providers of the management API. */
  readonly stored: Pick<StoredProviders, "custom" | "key" | "hasKey">;
  readonly decoding: ContentDecoding;
  readonly spoken: SpokenFormats;
  readonly tokens: AccessTokens;
}

/** Turns a step into the request that its provider gets as it is: address, clean headers, credential. */
export function untranslated(
  step: Step,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> | Outbound {
  // It would come back with the stored key in it (RFC 9110, section 9.3.8).
  if (step.method === "TRACE") throw new ApiError("method_not_allowed");
  if (!step.slug.startsWith("custom-")) return addressed(step, null, call, parts);
  return customProvider(step.slug, call, parts).then((custom) =>
    addressed(step, custom, call, parts),
  );
}

function addressed(
  step: Step,
  custom: CustomTarget | null,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> | Outbound {
  const { slug, rest, query, origin } = step;
  const targets = origin === undefined ? parts.targets : movedTo(parts.targets, slug, origin);
  const target = resolveTarget(slug, targets, { rest, query, custom });
  checkStranger(target, call);
  const { provider } = target;
  const given = withoutBlanks(requestHygiene(step.headers, parts.decoding), provider);
  const inHeader = given.some(([name]) => provider.credentials.includes(name));
  const bringsKey = inHeader || inQuery(query, provider);
  const addressedTo: Addressed = { step, target, bringsKey };
  const lent = isLent(addressedTo, call);
  const kept = lent ? lentHeaders(addressedTo, given, call) : given;
  const finish = ({ headers, signer }: Credential): Outbound => {
    const unsigned = sendable(addressedTo, headers, call, parts);
    const prepared =
      signer === undefined
        ? unsigned
        : { ...unsigned, via: signing(unsigned.via, signer, parts.platform.system) };
    return lent && step.isSocket === true
      ? { ...prepared, account: lentAccount(addressedTo, call) }
      : prepared;
  };
  return bringsKey
    ? finish({ headers: kept })
    : withCredential(kept, target, call, parts).then(finish);
}

/**
 * Whether the operator's credential would serve a caller who must not choose freely in its account. Callers with another
 * token than a virtual key are the operator's own programs.
 */
function isLent({ target, bringsKey }: Addressed, { caller }: Call): boolean {
  const { slug, custom } = target;
  if (slug === ECHO || (caller !== null && caller.grant === undefined)) return false;
  // A server that asks for no key takes any.
  if (isLocal(slug)) return true;
  // The headers of a custom provider go with every request.
  return !bringsKey || (caller !== null && (custom?.headers.length ?? 0) > 0);
}

/**
 * Returns the headers that may go beside the operator's credential. Throws `forbidden` for what a virtual key may not ask
 * with it.
 */
function lentHeaders(
  { step, target: { path } }: Addressed,
  given: HeaderPair[],
  { caller }: Call,
): HeaderPair[] {
  if (caller?.grant !== undefined) checkReach({ step, path, grant: caller.grant });
  return given.filter(([name]) => !choosesAccount(name));
}

function lentAccount({ step, target: { path } }: Addressed, { caller }: Call): LentAccount {
  const grant = caller?.grant;
  return {
    chooses: (protocol) => choosesAccount(protocol.split(".", 1)[0] ?? ""),
    refused: (text) => (grant === undefined ? null : refusedMessage(text, { step, path, grant })),
  };
}

interface Addressed {
  readonly step: Step;
  readonly target: ProviderTarget;
  /** Whether the caller brought the provider's credential. */
  readonly bringsKey: boolean;
}

function withoutBlanks(headers: HeaderPair[], { credentials }: Provider): HeaderPair[] {
  const holdsNone = ([name, value]: HeaderPair): boolean =>
    credentials.includes(name) && isBlankCredential(value);
  return headers.some(holdsNone) ? headers.filter((pair) => !holdsNone(pair)) : headers;
}

function inQuery(query: string, { queryCredentials }: Provider): boolean {
  if (queryCredentials === undefined || query === "") return false;
  const parameters = new URLSearchParams(query);
  return queryCredentials.some((name) => !isBlankCredential(parameters.get(name) ?? ""));
}

/** Whether a credential is empty: clients that insist on a key are given a blank one. */
export function isBlankCredential(credential: string): boolean {
  return /^(?:bearer)?\s*$/i.test(credential);
}

function sendable(
  addressedTo: Addressed,
  own: readonly HeaderPair[],
  call: Call,
  parts: OutboundParts,
): Outbound {
  const asking = askingBody(addressedTo.step, call, parts);
  const prepared = asIs(addressedTo, own, call, parts.platform);
  if (asking === null) return prepared;
  const { request, restore } = prepared;
  const asked = { decoding: parts.decoding, transport: parts.platform.transport };
  const headers = request.headers.filter(([name]) => !isEncoding(name));
  return {
    ...prepared,
    request: { ...request, headers, body: asking },
    restore: (answer) => whenReady(restore(answer), (restored) => unasked(restored, asked)),
  };
}

function asIs(
  { step, target, bringsKey }: Addressed,
  own: readonly HeaderPair[],
  call: Call,
  { transport, egress, system }: OutboundParts["platform"],
): Outbound {
  const headers = withProviderHeaders(own, target, call);
  // A streamed body keeps the client's Content-Length; the transport knows the length of bytes.
  const length =
    step.body instanceof ReadableStream ? headerValue(step.headers, "content-length") : null;
  if (length !== null && /^\d{1,15}$/.test(length)) headers.push(["content-length", length]);
  // A request that a caller can steer reaches public addresses only.
  const reach = target.custom === undefined ? transport : egress;
  return {
    target,
    bringsKey: bringsKey && !addsSecret(target),
    request: {
      method: step.method,
      url: target.url,
      headers,
      body: step.body,
      signal: call.signal,
    },
    via: target.url.startsWith("echo:") ? echoTransport(system) : reach,
    restore: (answer) => unlessRefused(answer, step),
  };
}

/** Returns the answer, unless it answers a body that was broken off here: workerd ends such a body as if it were whole. */
function unlessRefused(answer: InboundResponse, { refusal }: Step): InboundResponse {
  const error = refusal?.() ?? null;
  if (error === null) return answer;
  if (answer.body instanceof ReadableStream) answer.body.cancel().catch(() => undefined);
  throw error;
}

/** Finds a provider of the management API; what the configuration declares outranks it. */
export async function customProvider(
  slug: string,
  { name }: Call,
  { stored, targets }: OutboundParts,
): Promise<CustomTarget | null> {
  return Object.hasOwn(targets.providers, slug) ? null : stored.custom(name.account, slug);
}
