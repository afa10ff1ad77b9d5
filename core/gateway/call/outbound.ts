import type { HeaderPair, InboundResponse, OutboundRequest } from "../../ports.ts";
import { ApiError } from "../../http/api-error.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { tokenOf } from "../entry/access.ts";
import type { CachedReply } from "../answer/cache/shared-call.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { chatBody } from "../entry/compat.ts";
import { headerValue, isGatewayHeader, requestHygiene } from "../wire/header-hygiene.ts";
import { withCredential, withProviderHeaders } from "../providers/credential.ts";
import type { CustomTarget } from "../providers/stored-providers.ts";
import { decodedValue } from "../guard/tokens/own-tokens.ts";
import { withHeadKept } from "../observe/log/passing-body.ts";
import { plainBody } from "../wire/plain-body.ts";
import { credentialHeaders, credentialValue, type Provider } from "../providers/table.ts";
import { filterQuery } from "../wire/raw-path.ts";
import { movedTo, resolveTarget, type Target } from "../providers/target.ts";
import { guarded } from "../guard/tokens/token-guard.ts";
import { endsWell } from "../chat/ends-well.ts";
import { askingBody, isEncoding, unasked } from "../observe/usage/stream-usage.ts";
import { withInlineImages } from "../chat/images.ts";
import { type TranslationRoute, translationRoute } from "../providers/translation-route.ts";
import { translateReply } from "../chat/reply.ts";

/** A step ready to be sent. */
export interface Outbound {
  readonly target: Target;
  readonly request: OutboundRequest;
  /** Turns the provider's answer into what the client expects. */
  readonly restore: (answer: InboundResponse) => Promise<InboundResponse> | InboundResponse;
  /** Whether `restore` would bring the client a whole answer of this kept one. @default it does */
  readonly isRestorable?: (reply: CachedReply) => boolean;
}

/** Turns a step into the request that its provider gets: address, clean headers, credential, format. */
export function outbound(step: Step, call: Call, deps: GatewayDeps): Promise<Outbound> | Outbound {
  const route = translationRoute(step, deps.targets);
  return route === undefined ? untranslated(step, call, deps) : translated(step, route, call, deps);
}

function untranslated(step: Step, call: Call, deps: GatewayDeps): Promise<Outbound> | Outbound {
  // It would come back with the stored key in it (RFC 9110, section 9.3.8).
  if (step.method === "TRACE") throw new ApiError("method_not_allowed");
  if (!step.slug.startsWith("custom-")) return addressed(step, null, call, deps);
  return customProvider(step.slug, call, deps).then((custom) =>
    addressed(step, custom, call, deps),
  );
}

function addressed(
  step: Step,
  custom: CustomTarget | null,
  call: Call,
  deps: GatewayDeps,
): Promise<Outbound> | Outbound {
  const { slug, rest, query, origin } = step;
  const targets = origin === undefined ? deps.targets : movedTo(deps.targets, slug, origin);
  const target = resolveTarget(slug, rest, query, targets, custom);
  const { provider } = target;
  const given = withoutBlanks(requestHygiene(step.headers, deps.decoding), provider);
  const inHeader = given.some(([name]) => provider.credentials.includes(name));
  if (inHeader || inQuery(query, provider)) return sendable(step, target, given, call, deps);
  return withCredential(given, target, call, deps).then((own) =>
    sendable(step, target, own, call, deps),
  );
}

/** The headers without credentials that hold none. */
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

/** Whether a credential is none: clients that insist on a key are given an empty one. */
function isBlank(credential: string): boolean {
  return /^(?:bearer)?\s*$/i.test(credential);
}

function sendable(
  step: Step,
  target: Target,
  own: readonly HeaderPair[],
  call: Call,
  deps: GatewayDeps,
): Outbound {
  const asking = askingBody(step, call, deps);
  const prepared = asIs(step, target, own, call);
  if (asking === null) return prepared;
  const { request, restore } = prepared;
  const headers = request.headers.filter(([name]) => !isEncoding(name));
  return {
    ...prepared,
    request: { ...request, headers, body: asking },
    restore: (answer) => {
      const restored = restore(answer);
      return restored instanceof Promise
        ? restored.then((one) => unasked(one, deps))
        : unasked(restored, deps);
    },
  };
}

function asIs(step: Step, target: Target, own: readonly HeaderPair[], call: Call): Outbound {
  const headers = withProviderHeaders(own, target, call);
  // Of a stream only the client knows the length; of bytes the transport does.
  const length =
    step.body instanceof ReadableStream ? headerValue(step.headers, "content-length") : null;
  if (length !== null && /^\d{1,15}$/.test(length)) headers.push(["content-length", length]);
  return {
    target,
    request: {
      method: step.method,
      url: target.url,
      headers,
      body: step.body,
      signal: call.signal,
    },
    restore: (answer) => unlessRefused(answer, step),
  };
}

/** The answer, unless it answers a body that was broken off here: workerd ends such a body as if it were whole. */
function unlessRefused(answer: InboundResponse, { refusal }: Step): InboundResponse {
  const error = refusal?.() ?? null;
  if (error === null) return answer;
  if (answer.body instanceof ReadableStream) answer.body.cancel().catch(() => undefined);
  throw error;
}

/**
 * The same step without headers and query parameters that hold a token of ours: neither a provider nor a log row gets
 * them. Throws `invalid_request` when the caller's own stands where it cannot be taken out.
 */
export function withoutOwnTokens(step: Step, call: Call, deps: GatewayDeps): Promise<Step> | Step {
  const { access } = deps;
  if (!access.asksHost) return without(step, call, deps);
  const asked = access.ask(credentialValues(step));
  return asked === undefined
    ? without(step, call, deps)
    : asked.then((found) => without(step, call, deps, found));
}

function without(step: Step, call: Call, deps: GatewayDeps, asked?: ReadonlySet<string>): Step {
  const search = call.token === null ? null : deps.searchFor(call.token);
  const holdsOurs = (value: string): boolean => deps.access.isOurs(value, call.token, asked);
  // Cookies and `Referer` are percent-encoded, too, and a query's plus sign is a space or itself.
  const isOurs = (value: string): boolean =>
    holdsOurs(value) ||
    (/[%+\\]/.test(value) && (holdsOurs(decodedValue(value)) || search?.isInText(value) === true));
  const query = filterQuery(step.query, (value) => value !== "" && isOurs(value));
  const headers = step.headers.filter(([name, value]) => isGatewayHeader(name) || !isOurs(value));
  return withHeadKept(guarded({ ...step, query, headers }, call, deps), call, deps);
}

/** The values of a step that can hold a credential. */
function credentialValues({ headers, query }: Step): string[] {
  const values: string[] = [];
  for (const [name, value] of headers) if (credentialHeaders.has(name)) values.push(value);
  for (const [name, value] of new URLSearchParams(query)) values.push(value === "" ? name : value);
  return values;
}

/** A provider of the management API; what the configuration declares outranks it. */
async function customProvider(
  slug: string,
  { name }: Call,
  { stored, targets }: GatewayDeps,
): Promise<CustomTarget | null> {
  return Object.hasOwn(targets.providers, slug) ? null : stored.custom(name.account, slug);
}

async function translated(
  step: Step,
  { front, translator }: TranslationRoute,
  call: Call,
  deps: GatewayDeps,
): Promise<Outbound> {
  const given = chatBody(step.body);
  const read = front.read(given);
  const chat =
    translator.wantsInlineImages === true
      ? await withInlineImages(read, deps.platform, call.signal)
      : read;
  const { rest, query, body, headers } = translator.request(chat);
  const { provider } = resolveTarget(step.slug, rest, query, deps.targets);
  const kept = step.headers
    // Its bytes are read here, so they must come as they are.
    .filter(([name]) => name !== "accept-encoding" && name !== "content-type")
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
    deps,
  );
  const translation = { front, translator, chat, given };
  return {
    ...prepared,
    isRestorable: (reply) => endsWell(translation, reply),
    restore: async (answer) => {
      const plain = { ...answer, body: plainBody(answer, deps.decoding) };
      return translateReply(translation, plain, deps.platform.system);
    },
  };
}

/** Clients send every provider's key as their own format has it: `Authorization: Bearer`, or Anthropic's `x-api-key`. */
function nativeCredential(
  [name, value]: HeaderPair,
  provider: Provider,
  format: Step["format"],
): HeaderPair {
  const isKey = name === "authorization" || (name === "x-api-key" && format === "messages");
  if (!isKey || isBlank(value)) return [name, value];
  return [provider.credentials[0], credentialValue(provider, tokenOf(value) ?? value)];
}
