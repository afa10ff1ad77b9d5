import { whenReady } from "../../work/now-or-later.ts";
import type { HeaderPair, InboundResponse, Platform } from "../../ports.ts";
import { ApiError } from "../../http/api-error.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { tokenOf } from "../call/gateway-token.ts";
import type { Call, Step } from "../call/call.ts";
import { readChatBody } from "../chat/chat-body.ts";
import { choosesAccount, headerValue, requestHygiene } from "../wire/header-hygiene.ts";
import { checkReach, refusedMessage } from "./reach/check-reach.ts";
import { ECHO, isLocal } from "./known/table.ts";
import { addsSecret, checkStranger, withCredential, withProviderHeaders } from "./credential.ts";
import type { CustomTarget, StoredProviders } from "../account/records/stored-providers.ts";
import { plainBody } from "../wire/reply-body.ts";
import { credentialValue, type Provider } from "./known/provider.ts";
import {
  type ConfiguredTargets,
  mayLackFormats,
  movedTo,
  type ProviderTarget,
  resolveTarget,
  targetsOf,
} from "./target.ts";
import type { SpokenFormats } from "./spoken-formats.ts";
import { endsWell } from "../chat/translate-reply.ts";
import { askingBody, isEncoding, unasked, type UsageQuestion } from "./stream-usage.ts";
import { withInlineImages } from "../chat/images.ts";
import { mendChat } from "../models/mend-chat.ts";
import { fitChat } from "../models/fit-chat.ts";
import { modelRules } from "../models/model-rules.ts";
import { formatRoute, type TranslationRoute, translationRoute } from "./families.ts";
import { translateReply } from "../chat/translate-reply.ts";
import type { LentAccount, Outbound } from "../call/outbound.ts";

import type { ContentDecoding } from "../../http/content-decoder.ts";
import { echoTransport } from "./echo.ts";
import { estimate } from "./estimate.ts";

/** Dependencies of preparing a request. */
export interface OutboundParts extends UsageQuestion {
  readonly platform: Pick<Platform, "transport" | "egress" | "system">;
  readonly targets: ConfiguredTargets;
  /** Keys and custom providers of the management API. */
  readonly stored: Pick<StoredProviders, "custom" | "key" | "hasKey">;
  readonly decoding: ContentDecoding;
  readonly spoken: SpokenFormats;
}

/** Turns a step into the request that its provider gets: address, clean headers, credential, format. */
export function outbound(
  step: Step,
  call: Call,
  given: OutboundParts,
): Promise<Outbound> | Outbound {
  const targets = targetsOf(given.targets, call.name);
  const parts = targets === given.targets ? given : { ...given, targets };
  const route = translationRoute(step);
  if (route !== undefined) return translated(step, route, call, parts);
  if (step.format === "count") return estimate(step, call);
  const format = unsureFormat(step);
  return format === null ? untranslated(step, call, parts) : asSpoken(step, format, call, parts);
}

type UnsureFormat = "responses" | "messages";

/** Returns the format of a unified request that its provider may not take; null for other requests. */
function unsureFormat({ slug, rest, unified }: Step): UnsureFormat | null {
  if (unified !== true || !mayLackFormats(slug)) return null;
  return rest === "v1/messages" ? "messages" : rest === "v1/responses" ? "responses" : null;
}

/** Sends a request as it is to a custom provider that takes its format, and as a chat to another one. */
async function asSpoken(
  step: Step,
  format: UnsureFormat,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> {
  const { slug, rest, query } = step;
  const { targets, spoken } = parts;
  const custom = await customProvider(slug, call, parts);
  const { url } = resolveTarget(slug, targets, { rest, query, custom });
  const address = JSON.stringify([url, custom?.generation]);
  const told = Object.hasOwn(targets.providers, slug) ? targets.providers[slug]?.speaks : undefined;
  const takes = told?.includes(format) ?? spoken.known(address);
  if (takes !== false) {
    const prepared = await untranslated(step, call, parts);
    if (takes === true || (await spoken.probe(address, prepared, call.signal))) return prepared;
  }
  return translated({ ...step, rest: format, format }, formatRoute(slug, format), call, parts);
}

function untranslated(step: Step, call: Call, parts: OutboundParts): Promise<Outbound> | Outbound {
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
  const finish = (own: readonly HeaderPair[]): Outbound => {
    const prepared = sendable(addressedTo, own, call, parts);
    return lent && step.isSocket === true
      ? { ...prepared, account: lentAccount(addressedTo, call) }
      : prepared;
  };
  return bringsKey ? finish(kept) : withCredential(kept, target, call, parts.stored).then(finish);
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

/** A step, and where it goes. */
interface Addressed {
  readonly step: Step;
  readonly target: ProviderTarget;
  /** Whether the caller brought the provider's credential. */
  readonly bringsKey: boolean;
}

/** Drops empty credential headers. */
function withoutBlanks(headers: HeaderPair[], { credentials }: Provider): HeaderPair[] {
  const holdsNone = ([name, value]: HeaderPair): boolean =>
    credentials.includes(name) && isBlank(value);
  return headers.some(holdsNone) ? headers.filter((pair) => !holdsNone(pair)) : headers;
}

function inQuery(query: string, { queryCredentials }: Provider): boolean {
  if (queryCredentials === undefined || query === "") return false;
  const parameters = new URLSearchParams(query);
  return queryCredentials.some((name) => !isBlank(parameters.get(name) ?? ""));
}

/** Whether a credential is empty: clients that insist on a key are given a blank one. */
function isBlank(credential: string): boolean {
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
async function customProvider(
  slug: string,
  { name }: Call,
  { stored, targets }: OutboundParts,
): Promise<CustomTarget | null> {
  return Object.hasOwn(targets.providers, slug) ? null : stored.custom(name.account, slug);
}

async function translated(
  step: Step,
  { front, translator }: TranslationRoute,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> {
  const given = readChatBody(step.body);
  const { left_out: leftOut = [], ...asked } = mendChat(front.read(given));
  const { chat: read, dropped } = fitChat(asked, modelRules(step.slug, asked.model));
  const chat =
    translator.wantsInlineImages === true
      ? await withInlineImages(read, parts.platform, call.signal)
      : read;
  const { rest, query, body, headers } = translator.request(chat);
  const { provider } = resolveTarget(step.slug, parts.targets, { rest, query });
  const kept = step.headers
    // Its bytes are read here, so they must come as they are.
    .filter(([name]) => name !== "accept-encoding" && name !== "content-type")
    // Versions and betas of Anthropic's API, which only it knows.
    .filter(([name]) => !name.startsWith("anthropic-") || provider.chat === "anthropic")
    .map((pair) => nativeCredential(pair, provider, step.format));
  const defaults = headers.filter(([name]) => headerValue(kept, name) === null);
  const prepared = await untranslated(
    {
      ...step,
      rest,
      query,
      headers: [...kept, ...defaults, ["content-type", "application/json"]],
      body: utf8(JSON.stringify(body)),
    },
    call,
    parts,
  );
  const translation = { front, translator, chat, given };
  return {
    ...prepared,
    dropped: [...leftOut, ...dropped],
    isRestorable: (reply) => endsWell(translation, reply),
    restore: async (answer) => {
      const plain = { ...answer, body: plainBody(answer, parts.decoding) };
      return translateReply(translation, plain, parts.platform.system);
    },
  };
}

/** Clients send every provider's key as their own format has it: `Authorization: Bearer`, or Anthropic's `x-api-key`. */
function nativeCredential(
  [name, value]: HeaderPair,
  provider: Provider,
  format: Step["format"],
): HeaderPair {
  const isMessage = format === "messages" || format === "count";
  const isKey = name === "authorization" || (name === "x-api-key" && isMessage);
  if (!isKey || isBlank(value)) return [name, value];
  return [provider.credentials[0], credentialValue(provider, tokenOf(value) ?? value)];
}
