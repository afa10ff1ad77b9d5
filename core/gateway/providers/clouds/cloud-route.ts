import { jsonObject, jsonObjects, type Json } from "../../../http/json.ts";
import type { Step } from "../../call/call.ts";
import type { ChatFormat } from "../../chat/chat-body.ts";
import { chatFront } from "../../chat/formats/chat-reply.ts";
import { messagesFront } from "../../chat/formats/messages-reply.ts";
import { responsesFront } from "../../chat/formats/responses-reply.ts";
import type { ChatFront, ChatTranslator } from "../../chat/reply.ts";
import { anthropicTranslator } from "../anthropic/anthropic.ts";
import { geminiTranslator } from "../google/gemini.ts";
import { openaiTranslator } from "../openai/openai.ts";
import { isUnifiedTask, type UnifiedTask } from "../known/unified-tasks.ts";
import { cloudOf } from "./cloud-settings.ts";
import { claudeMembers, claudeMessage } from "./cloud-place.ts";

/** How a chat for a model of a cloud goes out, and its answer comes back. */
export interface CloudRoute {
  readonly front: ChatFront;
  readonly translator: ChatTranslator;
  /** Whether the request is in the model's own format already. */
  readonly passes: boolean;
  /** Whether failures of a request that passes have a format of the cloud's own. */
  readonly failsAsCloud: boolean;
}

const fronts = {
  "chat/completions": chatFront,
  responses: responsesFront,
  messages: messagesFront,
} as const satisfies Readonly<Record<ChatFormat, ChatFront>>;

const overChat = openaiTranslator({ path: "chat/completions", limit: "max_completion_tokens" });

export function cloudRoute(
  { slug, rest, query }: Step,
  format: ChatFormat | UnifiedTask,
): CloudRoute {
  if (isUnifiedTask(format)) {
    const failsAsCloud = cloudOf(slug) !== "azure";
    return { front: chatFront, translator: claude, passes: true, failsAsCloud };
  }
  const front = fronts[format];
  const isClaude =
    cloudOf(slug) === "bedrock"
      ? !rest.endsWith("chat/completions")
      : rest.includes("/publishers/anthropic/");
  const own: ChatTranslator = isClaude
    ? claude
    : rest.includes("/publishers/google/")
      ? geminiTranslator
      : overChat;
  const passes = isClaude ? format === "messages" : own === overChat && rest.endsWith(format);
  const translator: ChatTranslator = {
    ...own,
    request(chat) {
      const { body, headers } = own.request(chat);
      // `as`: translators make JSON objects.
      const made = body as Json;
      return {
        rest,
        query,
        headers: isClaude ? [] : headers,
        body: isClaude ? claudeMessage(made, claudeMembers(rest)) : made,
      };
    },
  };
  return { front, translator, passes, failsAsCloud: isClaude };
}

/** Claude models at clouds, whose own failures have the form of Google's or Amazon's APIs. */
const claude: ChatTranslator = { ...anthropicTranslator, errorOf };

function errorOf(body: Json): unknown {
  const given = jsonObjects(body)[0] ?? body;
  if (given["error"] != null) return given["error"];
  const { message, Message: capital } = given;
  const said = message ?? capital;
  return typeof said === "string" && given["content"] === undefined
    ? { ...jsonObject(given), message: said }
    : null;
}
