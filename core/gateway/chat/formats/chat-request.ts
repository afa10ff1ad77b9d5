import * as v from "valibot";
import { parse } from "../../../http/fields/body.ts";
import { allowedTools } from "../allowed-tools.ts";
import { cacheMark } from "../cache-mark.ts";
import {
  cannot,
  type Chat,
  type ChatCall,
  type ChatMessage,
  type ChatPart,
  type ChatReasoning,
  type ChatTool,
  contentParts,
  refuseChat,
} from "../chat-format.ts";
import { customArguments, customFunction } from "./custom-tools.ts";
import { extraContent } from "../extra-content.ts";
import { type Json, jsonCount, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import { placed } from "../thought-place.ts";

const imagePart = v.looseObject({
  type: v.literal("image_url"),
  image_url: v.looseObject({ url: v.string() }),
});
const part = v.variant("type", [
  v.looseObject({ type: v.literal("text"), text: v.string() }),
  imagePart,
  v.looseObject({
    type: v.literal("input_audio"),
    input_audio: v.looseObject({ data: v.string(), format: v.string() }),
  }),
  v.looseObject({
    type: v.literal("file"),
    file: v.looseObject({
      file_data: v.nullish(v.string()),
      file_id: v.nullish(v.string()),
      filename: v.nullish(v.string()),
    }),
  }),
  v.looseObject({ type: v.literal("refusal"), refusal: v.string() }),
]);
// Not a union: of that, an error would name the content, but not what is wrong within.
const content = v.nullish(
  v.lazy((given) => (Array.isArray(given) ? v.array(part) : v.string("expected text or parts"))),
);
const toolCall = v.looseObject({
  id: v.string(),
  type: v.optional(v.literal("function")),
  function: v.looseObject({ name: v.string(), arguments: v.string() }),
  extra_content: extraContent,
});
const customCall = v.looseObject({
  id: v.string(),
  type: v.literal("custom"),
  custom: v.looseObject({ name: v.string(), input: v.string() }),
  extra_content: extraContent,
});
const anyCall = v.lazy((given) => (isCustom(given) ? customCall : toolCall));
const message = v.variant("role", [
  v.looseObject({ role: v.picklist(["system", "developer"]), content }),
  v.looseObject({ role: v.literal("user"), content }),
  v.looseObject({
    role: v.literal("assistant"),
    content,
    refusal: v.nullish(v.string()),
    tool_calls: v.nullish(v.array(anyCall)),
    images: v.nullish(v.array(imagePart)),
    reasoning_details: v.nullish(v.array(v.looseObject({ type: v.string() }))),
  }),
  v.looseObject({ role: v.literal("tool"), content, tool_call_id: v.string() }),
]);
const functionTool = v.looseObject({
  type: v.literal("function"),
  function: v.looseObject({
    name: v.string(),
    description: v.nullish(v.string()),
    parameters: v.nullish(v.record(v.string(), v.unknown())),
    strict: v.nullish(v.boolean()),
  }),
});
const markable = { cache_control: v.optional(v.unknown()) };
const customTool = v.looseObject({
  ...markable,
  type: v.literal("custom"),
  custom: v.looseObject({
    ...markable,
    name: v.string(),
    description: v.nullish(v.string()),
    format: v.nullish(
      v.variant("type", [
        v.looseObject({ type: v.literal("text") }),
        v.looseObject({
          type: v.literal("grammar"),
          grammar: v.looseObject({ syntax: v.string(), definition: v.string() }),
        }),
      ]),
    ),
  }),
});
const tool = v.variant("type", [functionTool, customTool]);
const named = v.looseObject({ name: v.string() });
const namedTool = v.variant("type", [
  v.looseObject({ type: v.literal("function"), function: named }),
  v.looseObject({ type: v.literal("custom"), custom: named }),
]);
const toolChoice = v.lazy((given) =>
  typeof given === "string"
    ? v.picklist(["none", "auto", "required"])
    : v.variant("type", [
        ...namedTool.options,
        v.looseObject({
          type: v.literal("allowed_tools"),
          allowed_tools: v.looseObject({
            mode: v.picklist(["auto", "required"]),
            tools: v.array(namedTool),
          }),
        }),
      ]),
);

const chatSchema = v.looseObject({
  model: v.pipe(v.string(), v.minLength(1)),
  messages: v.pipe(v.array(message), v.minLength(1)),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.looseObject({ include_usage: v.nullish(v.boolean()) })),
  max_tokens: v.nullish(v.number()),
  max_completion_tokens: v.nullish(v.number()),
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  top_k: v.nullish(v.number()),
  presence_penalty: v.nullish(v.number()),
  frequency_penalty: v.nullish(v.number()),
  stop: v.nullish(v.union([v.string(), v.array(v.string())])),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(toolChoice),
  parallel_tool_calls: v.nullish(v.boolean()),
  response_format: v.nullish(
    v.looseObject({
      type: v.picklist(["text", "json_object", "json_schema"]),
      json_schema: v.nullish(
        v.looseObject({
          name: v.nullish(v.string()),
          strict: v.nullish(v.boolean()),
          schema: v.nullish(v.record(v.string(), v.unknown())),
        }),
      ),
    }),
  ),
  seed: v.nullish(v.number()),
  n: v.nullish(v.number()),
  reasoning_effort: v.nullish(v.string()),
  modalities: v.nullish(v.array(v.string())),
});

type ChatBody = v.InferOutput<typeof chatSchema>;

/** Members whose effect no other provider's format can express. */
const untranslatable = [
  "audio",
  "functions",
  "function_call",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "moderation",
  "prediction",
  "web_search_options",
] as const;

/** Reads an OpenAI chat request that is to be translated; what cannot be is a 400 that names it. */
export function readChat(given: Json): Chat {
  const request = parse(chatSchema, given, "chat_format");
  const { n, modalities, tools: offered, tool_choice: choice, ...chat } = request;
  refuseChat(given, untranslatable);
  if ((n ?? 1) !== 1) throw cannot("n above 1");
  const modality = modalities?.find((one) => one !== "text");
  if (modality !== undefined) throw cannot(`modalities ${modality}`);
  const tools = offered?.map(toolOf);
  return { ...chat, tools, ...chosen(tools, choice), messages: chat.messages.map(messageOf) };
}

function isCustom(given: unknown): boolean {
  return jsonObject(given)["type"] === "custom";
}

function toolOf(one: v.InferOutput<typeof tool>): ChatTool {
  if (one.type === "function") return one;
  const { name, description, format } = one.custom;
  const grammar = format?.type === "grammar" ? format.grammar : undefined;
  const made = customFunction({ name, description, grammar });
  return { type: "function", function: made, ...cacheMark(one, one.custom) };
}

function callOf(call: v.InferOutput<typeof anyCall>): ChatCall {
  if (call.type !== "custom") return call;
  const { custom, ...more } = call;
  const made = { name: custom.name, arguments: customArguments(custom.input) };
  return { ...more, function: made };
}

function nameOf(one: v.InferOutput<typeof namedTool>): string {
  return one.type === "custom" ? one.custom.name : one.function.name;
}

function chosen(
  tools: readonly ChatTool[] | undefined,
  choice: ChatBody["tool_choice"],
): Partial<Chat> {
  if (choice == null || typeof choice === "string") return { tool_choice: choice };
  if (choice.type !== "allowed_tools")
    return { tool_choice: { type: "function", function: { name: nameOf(choice) } } };
  const { mode, tools: allowed } = choice.allowed_tools;
  return allowedTools(tools ?? [], allowed.map(nameOf), mode);
}

/** Members of an assistant's message that no other format has. */
const unsayable = ["audio", "function_call"] as const;

function messageOf(one: ChatBody["messages"][number]): ChatMessage {
  if (one.role !== "assistant") return one;
  refuseChat(one, unsayable);
  const { refusal, images, tool_calls: calls, ...said } = one;
  const reasoning = reasoningOf(one.reasoning_details);
  const beside: ChatPart[] = [
    ...(refusal == null || refusal === "" ? [] : [{ type: "refusal" as const, refusal }]),
    ...(images ?? []),
  ];
  return {
    ...said,
    content: beside.length === 0 ? said.content : [...contentParts(said.content), ...beside],
    ...(reasoning.length === 0 ? {} : { reasoning }),
    ...(calls == null ? {} : { tool_calls: calls.map(callOf) }),
  };
}

/** Reads thoughts as `chat-reply.ts` gave them. */
function reasoningOf(details: unknown): ChatReasoning[] {
  return jsonObjects(details).flatMap((detail): ChatReasoning[] => {
    const { text, calls } = jsonObject(detail["after"]);
    const place = placed({ text: jsonCount(text), calls: jsonCount(calls) });
    if (typeof detail["data"] === "string") return [{ text: "", hidden: detail["data"], ...place }];
    const signature = jsonText(detail["signature"]);
    return signature === "" ? [] : [{ text: jsonText(detail["text"]), signature, ...place }];
  });
}
