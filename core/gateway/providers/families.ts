import type { Step } from "../call/call.ts";
import { providerRow } from "./known/table.ts";
import { anthropicTranslator } from "./anthropic/anthropic.ts";
import { countFront } from "../chat/formats/count-front.ts";
import { chatFront } from "../chat/formats/chat-reply.ts";
import { geminiTranslator } from "./google/gemini.ts";
import { messagesFront } from "../chat/formats/messages-reply.ts";
import { openaiTranslator } from "./openai/openai.ts";
import { responsesFront } from "../chat/formats/responses-reply.ts";
import type { ChatFront, ChatTranslator } from "../chat/reply.ts";

/** The client's format, and the one that a provider wants in its place. */
export interface TranslationRoute {
  readonly front: ChatFront;
  readonly translator: ChatTranslator;
}

const CHAT = "chat/completions";

const translators = {
  anthropic: anthropicTranslator,
  gemini: geminiTranslator,
} as const;

const fronts = { responses: responsesFront, messages: messagesFront } as const;

/** Returns how a step is translated; undefined when its bytes go out as they are, or its tokens are estimated. */
export function translationRoute(step: Step): TranslationRoute | undefined {
  const { slug, rest, format, method } = step;
  if (format === undefined) {
    if (rest !== CHAT || method !== "POST") return undefined;
    const translator = translatorOf(slug);
    return translator === undefined ? undefined : { front: chatFront, translator };
  }
  if (format !== "count") return formatRoute(slug, format);
  const counter = translatorOf(slug)?.counter;
  return counter === undefined ? undefined : { front: countFront, translator: counter };
}

/** Returns how a format other than OpenAI's chats is translated for a provider. */
export function formatRoute(slug: string, format: "responses" | "messages"): TranslationRoute {
  return { front: fronts[format], translator: translatorOf(slug) ?? overChat(slug) };
}

/** Returns the translator of a provider with a format of its own. */
function translatorOf(slug: string): ChatTranslator | undefined {
  const format = providerRow(slug)?.chat;
  return format === undefined ? undefined : translators[format];
}

function overChat(slug: string): ChatTranslator {
  const { openaiChat: path = CHAT, dialect } = providerRow(slug) ?? {};
  return openaiTranslator({ ...dialect, path });
}
