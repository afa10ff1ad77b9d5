import type { HeaderPair, InboundResponse, OutboundRequest } from "../ports.ts";
import { utf8 } from "../crypto/encoding.ts";
import { tokenOf } from "./access.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { parseChat } from "./chat-format.ts";
import { headerValue, isGatewayHeader, requestHygiene } from "./header-hygiene.ts";
import { withCredential, withProviderHeaders } from "./manage/credential.ts";
import type { CustomTarget } from "./manage/stored-providers.ts";
import { decodedValue } from "./own-tokens.ts";
import { credentialHeaders, type Provider, providers } from "./providers.ts";
import { filterQuery } from "./raw-path.ts";
import { resolveTarget, type Target } from "./target.ts";
import { anthropicTranslator } from "./translate-anthropic.ts";
import { geminiTranslator } from "./translate-gemini.ts";
import { workersAiTranslator } from "./translate-workers-ai.ts";
import { type ChatTranslator, translateReply } from "./translate.ts";

/** A step ready to be sent. */
export interface Outbound {
  readonly target: Target;
  readonly request: OutboundRequest;
  /** Turns the provider's answer into what the client expects. */
  readonly restore: (answer: InboundResponse) => Promise<InboundResponse> | InboundResponse;
}

/** Turns a step into the request that its provider gets: address, clean headers, credential, format. */
export async function outbound(step: Step, call: Call, deps: GatewayDeps): Promise<Outbound> {
  const format = chatFormat(step, deps);
  return format === undefined
    ? untranslated(step, call, deps)
    : translated(step, translators[format], call, deps);
}

const translators: Readonly<Record<NonNullable<Provider["chat"]>, ChatTranslator>> = {
  anthropic: anthropicTranslator,
  gemini: geminiTranslator,
  "workers-ai": workersAiTranslator,
};

/** The spec's `{provider}/chat/completions` for a provider with a format of its own. */
function chatFormat(
  { slug, rest, method }: Step,
  { targets }: GatewayDeps,
): Provider["chat"] | undefined {
  if (rest !== "chat/completions" || method !== "POST" || !Object.hasOwn(providers, slug))
    return undefined;
  const format = providers[slug]?.chat;
  // Below `v1` Workers AI speaks OpenAI's format.
  const base = Object.hasOwn(targets.providers, slug) ? targets.providers[slug]?.baseUrl : "";
  return format === "workers-ai" && /\/v1\/?$/.test(base ?? "") ? undefined : format;
}

async function untranslated(step: Step, call: Call, deps: GatewayDeps): Promise<Outbound> {
  const { query } = step;
  const custom = step.slug.startsWith("custom-")
    ? await customProvider(step.slug, call, deps)
    : null;
  const target = resolveTarget(step.slug, step.rest, query, deps.targets, custom);
  const { provider } = target;
  const given = requestHygiene(step.headers);
  const hasCredential =
    given.some(([name]) => provider.credentials.includes(name)) ||
    (provider.queryCredentials?.some((name) => new URLSearchParams(query).has(name)) ?? false);
  const own = hasCredential ? given : await withCredential(given, target, call, deps);
  const headers = withProviderHeaders(own, target);
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
    restore: (answer) => answer,
  };
}

/** The same step without headers and query parameters that hold a token of ours: neither a provider nor a log row gets them. */
export async function withoutOwnTokens(
  step: Step,
  call: Call,
  { access }: GatewayDeps,
): Promise<Step> {
  const asked = access.asksHost ? await access.ask(credentialValues(step)) : undefined;
  const isOurs = (value: string): boolean => access.isOurs(value, call.token, asked);
  const query = filterQuery(step.query, (value) => value !== "" && isOurs(decodedValue(value)));
  const headers = step.headers.filter(([name, value]) => isGatewayHeader(name) || !isOurs(value));
  return { ...step, query, headers };
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
  translator: ChatTranslator,
  call: Call,
  deps: GatewayDeps,
): Promise<Outbound> {
  const chat = parseChat(step.body);
  const { rest, query, body, headers } = translator.request(chat);
  const credential = providers[step.slug]?.credentials[0] ?? "authorization";
  const kept = step.headers
    // Its bytes are read here, so they must come as they are.
    .filter(([name]) => name !== "accept-encoding" && name !== "content-type")
    .map(([name, value]) => nativeCredential(name, value, credential));
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
  return {
    ...prepared,
    restore: (answer) => translateReply(translator, chat, answer, deps.platform.system),
  };
}

/** Clients of the OpenAI format send every provider's key as `Authorization: Bearer`. */
function nativeCredential(name: string, value: string, native: string): HeaderPair {
  return name === "authorization" ? [native, tokenOf(value) ?? value] : [name, value];
}
