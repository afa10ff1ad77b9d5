import * as v from "valibot";
import { ApiError } from "../../../http/api-error.ts";
import { parse } from "../../../http/fields/body.ts";
import { cacheMark } from "../cache-mark.ts";
import {
  cannot,
  type Chat,
  type ChatMessage,
  type ChatPart,
  type ChatReasoning,
  leftOut,
  refuseChat,
} from "../chat-format.ts";
import { extraContent } from "../extra-content.ts";
import { type Json, jsonObjects, jsonText, ownMember } from "../../../http/json.ts";
import { placed, textLength } from "../thought-place.ts";
import { customArguments } from "./custom-tools.ts";
import {
  clientTools,
  foundTools,
  TOOL_SEARCH,
  toolMembers,
  toolsOf,
  wireName,
} from "./responses-tools.ts";

const text = v.string();
const markable = { cache_control: v.optional(v.unknown()) };
const part = v.variant("type", [
  v.looseObject({ ...markable, type: v.picklist(["input_text", "output_text", "text"]), text }),
  v.looseObject({ ...markable, type: v.picklist(["refusal"]), refusal: text }),
  v.looseObject({
    ...markable,
    type: v.picklist(["input_image"]),
    image_url: v.string("expected a URL: files of the provider cannot be translated"),
  }),
  v.looseObject({
    ...markable,
    type: v.picklist(["input_file"]),
    file_data: v.nullish(text),
    file_url: v.nullish(text),
    file_id: v.nullish(text),
    filename: v.nullish(text),
  }),
]);
// Not a union: of that, an error would name the content, but not what is wrong within.
const content = v.lazy((given) =>
  Array.isArray(given) ? v.array(part) : v.string("expected text or parts"),
);
const message = v.looseObject({
  type: v.optional(v.literal("message"), "message"),
  role: v.picklist(["user", "assistant", "system", "developer"]),
  content,
});
const format = v.looseObject({
  type: v.picklist(["text", "json_object", "json_schema"]),
  name: v.nullish(text),
  strict: v.nullish(v.boolean()),
  schema: v.nullish(v.record(text, v.unknown())),
});
/** Items outside of the conversation: tools, and what another provider ran itself, whose words follow. */
const outsideItem = v.looseObject({
  type: v.picklist([
    "additional_tools",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_list_tools",
    "mcp_call",
  ]),
});
const otherItem = v.variant("type", [
  v.looseObject({
    type: v.literal("function_call"),
    call_id: text,
    name: text,
    namespace: v.nullish(text),
    arguments: text,
    extra_content: extraContent,
  }),
  v.looseObject({
    type: v.literal("custom_tool_call"),
    call_id: text,
    name: text,
    namespace: v.nullish(text),
    input: text,
  }),
  v.looseObject({ type: v.literal("tool_search_call"), call_id: text, arguments: v.unknown() }),
  v.looseObject({ type: v.literal("tool_search_output"), call_id: text }),
  outsideItem,
  v.looseObject({
    type: v.literal("configuration_update"),
    reasoning: v.nullish(v.looseObject({ effort: v.nullish(text) })),
    text: v.nullish(v.looseObject({ format: v.nullish(format) })),
  }),
  v.looseObject({
    type: v.picklist(["function_call_output", "custom_tool_call_output"]),
    call_id: text,
    output: content,
  }),
  v.looseObject({ type: v.literal("image_generation_call"), result: text }),
  v.looseObject({
    type: v.literal("reasoning"),
    summary: v.nullish(v.array(v.looseObject({ text: v.optional(text, "") }))),
    content: v.nullish(v.array(v.looseObject({ text: v.optional(text, "") }))),
    encrypted_content: v.nullish(text),
  }),
]);
const item = v.lazy((given) => (isMessage(given) ? message : otherItem));

const schema = v.looseObject({
  ...markable,
  model: v.pipe(text, v.minLength(1)),
  input: v.lazy((given) => (Array.isArray(given) ? v.array(item) : v.string("expected input"))),
  instructions: v.nullish(text),
  stream: v.nullish(v.boolean()),
  max_output_tokens: v.nullish(v.number()),
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  ...toolMembers,
  text: v.nullish(v.looseObject({ format: v.nullish(format), verbosity: v.nullish(text) })),
  reasoning: v.nullish(
    v.looseObject({
      effort: v.nullish(text),
      summary: v.nullish(text),
      generate_summary: v.nullish(text),
    }),
  ),
  truncation: v.nullish(text),
  include: v.nullish(v.array(text)),
});

/** The prefix that distinguishes the encrypted content of a hidden thought from the signature of a visible one. */
export const HIDDEN: string = "hidden:";

type ResponsesRequest = v.InferOutput<typeof schema>;
type Item = v.InferOutput<typeof message> | v.InferOutput<typeof otherItem>;
type Part = v.InferOutput<typeof part>;

/** Members for which another provider has no state or place. */
const untranslatable = [
  "background",
  "conversation",
  "moderation",
  "previous_response_id",
  "prompt",
  "top_logprobs",
] as const;

/** Members that manage what OpenAI keeps, and that an answer does without. */
const needless = ["context_management"] as const;

/** Reads a request in OpenAI's Responses format; what cannot be translated is a 400 that names it. */
export function readResponses(given: Json): Chat {
  refuseChat(given, untranslatable);
  refuseUnreadable(given["input"]);
  const request = parse(schema, given, "chat_format");
  const { truncation = null } = request;
  if (truncation !== null && !["auto", "disabled"].includes(truncation))
    throw cannot(`truncation ${truncation}`);
  const extra = request.include?.find((one) => one !== "reasoning.encrypted_content");
  if (extra !== undefined) throw cannot(`include ${extra}`);
  const summary = request.reasoning?.summary ?? request.reasoning?.generate_summary;
  return {
    model: request.model,
    messages: [
      ...(request.instructions == null
        ? []
        : [{ role: "system" as const, content: request.instructions }]),
      ...messagesOf(request.input),
    ],
    stream: request.stream,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    ...toolsOf(request, clientTools(given)),
    ...settingsOf(request),
    shows_thoughts: summary != null,
    left_out: [
      ...leftOut(given, needless),
      // A conversation that fits needs none, and the client learns of one that does not.
      ...(truncation === "auto" ? ["truncation"] : []),
    ],
    ...cacheMark(request),
  };
}

/** Items that stand for what OpenAI alone knows, and the way out for the client. */
const unreadable: Readonly<Record<string, string>> = {
  item_reference: "no state is kept for this provider: send the items, with store: false",
  compaction: "OpenAI has encrypted the summary: send the items that it stands for",
};

function refuseUnreadable(input: unknown): void {
  for (const { type } of jsonObjects(input)) {
    const why = ownMember(unreadable, jsonText(type));
    if (why === undefined) continue;
    throw new ApiError("chat_format", {
      message: `input: an item "${jsonText(type)}" cannot be translated, ${why}`,
    });
  }
}

/** Reads what updates in the conversation may change; the last word holds. */
function settingsOf(request: ResponsesRequest): Pick<Chat, "response_format" | "reasoning_effort"> {
  const updates = typeof request.input === "string" ? [] : request.input.filter(isUpdate);
  const settings = [request, ...updates];
  const efforts = settings.map(({ reasoning }) => reasoning?.effort);
  const formats = settings.map((one) => one.text?.format);
  return {
    response_format: formatOf(formats.findLast((one) => one != null)),
    reasoning_effort: efforts.findLast((one) => one != null),
  };
}

/** Whether an item sets for the rest of the conversation what stands beside the input of the request. */
function isUpdate(one: Item): one is Extract<Item, { type: "configuration_update" }> {
  return one.type === "configuration_update";
}

function isOutside(one: Item): one is v.InferOutput<typeof outsideItem> {
  return v.is(outsideItem, one);
}

function isMessage(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return true;
  const { type = "message" } = given as { type?: unknown };
  return type === "message";
}

function formatOf(given: v.InferOutput<typeof format> | null | undefined): Chat["response_format"] {
  if (given == null) return null;
  const { type, name, schema: form, strict } = given;
  return type === "json_schema" ? { type, json_schema: { name, schema: form, strict } } : { type };
}

/** Thoughts, words and calls are items side by side; in a chat they are one message of the assistant. */
function messagesOf(input: string | Item[]): ChatMessage[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  const out: ChatMessage[] = [];
  for (const one of input) {
    const next = messageOf(one);
    if (next === null) continue;
    const last = out.at(-1);
    if (next.role !== "assistant" || last?.role !== "assistant") out.push(next);
    else {
      const merged = [...contentOf(last.content), ...contentOf(next.content)];
      const before = {
        text: textLength(last.content),
        calls: last.tool_calls?.length ?? 0,
      };
      const thoughts = (next.reasoning ?? []).map((thought) => ({ ...thought, ...placed(before) }));
      const reasoning = [...(last.reasoning ?? []), ...thoughts];
      const calls = [...(last.tool_calls ?? []), ...(next.tool_calls ?? [])];
      out[out.length - 1] = { role: "assistant", content: merged, reasoning, tool_calls: calls };
    }
  }
  return out;
}

function contentOf(given: ChatMessage["content"]): ChatPart[] {
  return typeof given === "string" ? [{ type: "text", text: given }] : (given ?? []);
}

/** Null for an item outside of the conversation. */
function messageOf(one: Item): ChatMessage | null {
  if (isOutside(one) || isUpdate(one)) return null;
  switch (one.type) {
    case "tool_search_call": {
      const made = { name: TOOL_SEARCH, arguments: JSON.stringify(one.arguments ?? {}) };
      return { role: "assistant", tool_calls: [{ id: one.call_id, function: made }] };
    }
    case "tool_search_output":
      return { role: "tool", tool_call_id: one.call_id, content: foundTools(one) };
    case "function_call":
      return {
        role: "assistant",
        tool_calls: [
          {
            id: one.call_id,
            function: { name: wireName(one), arguments: one.arguments },
            extra_content: one.extra_content,
          },
        ],
      };
    case "custom_tool_call":
      return {
        role: "assistant",
        tool_calls: [
          {
            id: one.call_id,
            function: { name: wireName(one), arguments: customArguments(one.input) },
          },
        ],
      };
    case "function_call_output":
    case "custom_tool_call_output":
      return { role: "tool", tool_call_id: one.call_id, content: partsOf(one.output) };
    case "image_generation_call":
      return { role: "assistant", content: [imageOf(one.result)] };
    case "reasoning":
      return { role: "assistant", reasoning: [thoughtOf(one)] };
    default:
      return { role: one.role, content: partsOf(one.content) };
  }
}

/** Reads an image as `responses-reply.ts` gave it: its type stands in its first bytes. */
function imageOf(data: string): ChatPart {
  const type = data.startsWith("/9j/") ? "jpeg" : data.startsWith("UklGR") ? "webp" : "png";
  return { type: "image_url", image_url: { url: `data:image/${type};base64,${data}` } };
}

/** Reads a thought as `responses-reply.ts` gave it. */
function thoughtOf(one: Extract<Item, { type: "reasoning" }>): ChatReasoning {
  const said = [...(one.summary ?? []), ...(one.content ?? [])].map((piece) => piece.text).join("");
  const { encrypted_content: secret } = one;
  if (secret == null) return { text: said };
  return secret.startsWith(HIDDEN)
    ? { text: "", hidden: secret.slice(HIDDEN.length) }
    : { text: said, signature: secret };
}

function partsOf(given: string | Part[]): string | ChatPart[] {
  return typeof given === "string"
    ? given
    : given.map((one) => ({ ...partOf(one), ...cacheMark(one) }));
}

function partOf(one: Part): ChatPart {
  switch (one.type) {
    case "refusal":
      return { type: "refusal", refusal: one.refusal };
    case "input_image":
      return { type: "image_url", image_url: { url: one.image_url } };
    case "input_file": {
      const data = one.file_data ?? one.file_url;
      if (data == null) throw cannot("input_file without file_data or file_url");
      return { type: "file", file: { file_data: data, filename: one.filename } };
    }
    default:
      return { type: "text", text: one.text };
  }
}
