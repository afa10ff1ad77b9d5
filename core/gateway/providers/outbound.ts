import { ownMember } from "../../http/json.ts";
import type { HeaderPair } from "../../ports.ts";
import { tokenOf } from "../call/gateway-token.ts";
import type { Call, Step } from "../call/call.ts";
import type { Outbound } from "../call/outbound.ts";
import type { Chat } from "../chat/chat-format.ts";
import {
  type ChatFormat,
  modelOfChat,
  readChatBody,
  readChatInSteps,
  writeChat,
} from "../chat/chat-body.ts";
import { withInlineImages } from "../chat/images.ts";
import { withTakenNames } from "../chat/tool-names.ts";
import { endsWell, translateReply } from "../chat/translate-reply.ts";
import { fitChat } from "../models/fit-chat.ts";
import { mendChat } from "../models/mend-chat.ts";
import { modelRules } from "../models/model-rules.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { plainBody } from "../wire/reply-body.ts";
import { unframing } from "./clouds/bedrock.ts";
import { type CloudRoute, cloudRoute } from "./clouds/cloud-route.ts";
import { cloudOf } from "./clouds/cloud-settings.ts";
import { embedding, embeddingRequest } from "./clouds/embed-texts.ts";
import { estimate } from "./estimate.ts";
import { formatRoute, type TranslationRoute, translationRoute } from "./families.ts";
import { credentialValue, type Provider } from "./known/provider.ts";
import type { UnifiedTask } from "./known/unified-tasks.ts";
import { mayLackFormats, resolveTarget, targetsOf } from "./target.ts";
import {
  customProvider,
  isBlankCredential,
  type OutboundParts,
  untranslated,
} from "./untranslated.ts";

/** Turns a step into the request that its provider gets: address, clean headers, credential, format. */
export function outbound(
  step: Step,
  call: Call,
  given: OutboundParts,
): Promise<Outbound> | Outbound {
  const targets = targetsOf(given.targets, call.name);
  const parts = targets === given.targets ? given : { ...given, targets };
  if (step.cloud !== undefined) return toCloud(step, step.cloud, call, parts);
  const route = translationRoute(step);
  if (route !== undefined) return translated(step, route, call, parts);
  if (step.format === "count") return estimate(step, call);
  const format = unsureFormat(step);
  return format === null ? untranslated(step, call, parts) : asSpoken(step, format, call, parts);
}

async function toCloud(
  step: Step,
  format: ChatFormat | UnifiedTask,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> {
  const route = cloudRoute(step, format);
  const asMessage: Step = format === "messages" ? { ...step, format } : step;
  const prepared = route.passes
    ? await passedToCloud(asMessage, route, call, parts)
    : await translated(asMessage, route, call, parts);
  if (format === "embeddings") return embeddedByCloud(step, prepared, parts);
  // Before anything reads the answer: checks, log and cache know server-sent events.
  return step.slug === "aws-bedrock" ? { ...prepared, via: unframing(prepared.via) } : prepared;
}

/** Prepares texts to embed for a model with a format of its own. */
function embeddedByCloud(
  step: Step,
  prepared: Outbound,
  { decoding, platform: { system } }: OutboundParts,
): Outbound {
  const cloud = cloudOf(step.slug);
  if (cloud === undefined || cloud === "azure") return prepared;
  const given = readChatBody(step);
  const named = modelOfChat(given);
  const model = cloud === "vertex" ? named.replace(/^google\//, "") : named;
  const asked = embeddingRequest(given, cloud, model);
  return { ...prepared, via: embedding(prepared.via, asked, { decoding, system }) };
}

/** Prepares a request that is in the model's own format: only failures of the cloud are written in the client's. */
async function passedToCloud(
  step: Step,
  { front, translator, failsAsCloud }: CloudRoute,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> {
  const { provider } = resolveTarget(step.slug, parts.targets, step);
  const headers = step.headers.map((pair) => nativeCredential(pair, provider, step.format));
  const prepared = await untranslated({ ...step, headers }, call, parts);
  if (!failsAsCloud) return prepared;
  // `as`: a failure is written without the chat that it answers.
  const failing = { front, translator, chat: { model: "", messages: [] } as Chat, given: {} };
  return {
    ...prepared,
    restore: async (answer) =>
      answer.status < 400
        ? prepared.restore(answer)
        : translateReply(
            failing,
            { ...answer, body: plainBody(answer, parts.decoding) },
            parts.platform.system,
          ),
  };
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
  const told = ownMember(targets.providers, slug)?.speaks;
  const takes = told?.includes(format) ?? spoken.known(address);
  if (takes !== false) {
    const prepared = await untranslated(step, call, parts);
    if (takes === true || (await spoken.probe(address, prepared, call.signal))) return prepared;
  }
  return translated({ ...step, rest: format, format }, formatRoute(slug, format), call, parts);
}

async function translated(
  step: Step,
  { front, translator: own }: TranslationRoute,
  call: Call,
  parts: OutboundParts,
): Promise<Outbound> {
  const { system } = parts.platform;
  const translator = withTakenNames(own);
  const given = await readChatInSteps(step, system);
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
      ...(await writeChat(body, step.body, system)),
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
      return translateReply(translation, plain, system);
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
  if (!isKey || isBlankCredential(value)) return [name, value];
  // A token of Entra is a JSON Web Token, and no key.
  if (provider.cloud === "azure" && /^Bearer eyJ/i.test(value)) return [name, value];
  return [provider.credentials[0], credentialValue(provider, tokenOf(value) ?? value)];
}
