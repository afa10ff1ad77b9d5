import * as v from "valibot";
import { parse } from "../../../http/fields/body.ts";
import {
  cannot,
  cannotRun,
  type Chat,
  type ChatMessage,
  type ChatPart,
  type ChatReasoning,
  leftOut,
  refuseChat,
  type ToolMessage,
} from "../chat-format.ts";
import { extraContent } from "../extra-content.ts";
import { type Json, jsonObjects, jsonText } from "../../../http/json.ts";
import { placed } from "../thought-place.ts";

const text = v.string();
const source = v.variant("type", [
  v.looseObject({ type: v.literal("base64"), media_type: text, data: text }),
  v.looseObject({ type: v.literal("url"), url: text }),
  v.looseObject({ type: v.literal("text"), data: text }),
]);
const textBlock = v.looseObject({ type: v.literal("text"), text });
const imageBlock = v.looseObject({ type: v.literal("image"), source });
const documentBlock = v.looseObject({
  type: v.literal("document"),
  source,
  title: v.nullish(text),
});
const listed = <S extends v.GenericSchema>(block: S) =>
  v.lazy((given) => (Array.isArray(given) ? v.array(block) : v.string("expected text or blocks")));
const referenceBlock = v.looseObject({ type: v.literal("tool_reference"), tool_name: text });
const resultBlock = v.variant("type", [textBlock, imageBlock, documentBlock, referenceBlock]);
const block = v.variant("type", [
  textBlock,
  imageBlock,
  documentBlock,
  v.looseObject({
    type: v.literal("tool_use"),
    id: text,
    name: text,
    input: v.unknown(),
    extra_content: extraContent,
  }),
  v.looseObject({
    type: v.literal("tool_result"),
    tool_use_id: text,
    content: v.optional(listed(resultBlock), ""),
    is_error: v.nullish(v.boolean()),
  }),
  v.looseObject({ type: v.literal("thinking"), thinking: text, signature: v.optional(text, "") }),
  v.looseObject({ type: v.literal("redacted_thinking"), data: text }),
]);
const message = v.looseObject({
  role: v.picklist(["user", "assistant", "system"]),
  content: listed(block),
});
const tool = v.looseObject({
  type: v.nullish(v.literal("custom")),
  name: text,
  description: v.nullish(text),
  input_schema: v.record(text, v.unknown()),
  strict: v.nullish(v.boolean()),
  defer_loading: v.nullish(v.boolean()),
});

const schema = v.looseObject({
  model: v.pipe(text, v.minLength(1)),
  max_tokens: v.number(),
  messages: v.pipe(v.array(message), v.minLength(1)),
  system: v.nullish(listed(textBlock)),
  stream: v.nullish(v.boolean()),
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  top_k: v.nullish(v.number()),
  stop_sequences: v.nullish(v.array(text)),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(
    v.variant("type", [
      v.looseObject({ type: v.picklist(["auto", "any", "none"]) }),
      v.looseObject({ type: v.literal("tool"), name: text }),
    ]),
  ),
  thinking: v.nullish(
    v.variant("type", [
      v.looseObject({ type: v.literal("enabled"), budget_tokens: v.number() }),
      v.looseObject({ type: v.picklist(["adaptive", "disabled"]) }),
    ]),
  ),
  output_config: v.nullish(
    v.looseObject({
      effort: v.nullish(text),
      format: v.nullish(
        v.looseObject({ type: v.literal("json_schema"), schema: v.record(text, v.unknown()) }),
      ),
    }),
  ),
});

type MessagesRequest = v.InferOutput<typeof schema>;
type Block = v.InferOutput<typeof block>;
type ResultBlock = v.InferOutput<typeof resultBlock>;

/** Members that only Anthropic has. */
const untranslatable = ["container", "mcp_servers", "output_format"] as const;

/** Members that only Anthropic has, and that an answer does without. */
const needless = ["context_management"] as const;

/** Reads a request in Anthropic's Messages format; what cannot be translated is a 400 that names it. */
export function readMessages(given: Json): Chat {
  refuseChat(given, untranslatable);
  refuseOwnTools(given["tools"]);
  const request = parse(schema, given, "chat_format");
  const { system, thinking, output_config: config } = request;
  return {
    model: request.model,
    messages: [
      ...(system == null ? [] : [{ role: "system" as const, content: systemOf(system) }]),
      ...request.messages.flatMap(messagesOf),
    ],
    stream: request.stream,
    max_completion_tokens: request.max_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    top_k: request.top_k,
    stop: request.stop_sequences?.length === 0 ? null : request.stop_sequences,
    ...toolsOf(request),
    response_format:
      config?.format == null
        ? null
        : { type: "json_schema", json_schema: { schema: config.format.schema, strict: true } },
    reasoning_effort: config?.effort,
    thinking_budget: thinking?.type === "enabled" ? thinking.budget_tokens : null,
    shows_thoughts:
      thinking != null && thinking.type !== "disabled" && thinking["display"] !== "omitted",
    left_out: leftOut(given, needless),
  };
}

/** Refuses tools that Anthropic runs itself, or whose schema only it knows (`web_search_20250305`, `bash_20250124`). */
function refuseOwnTools(tools: unknown): void {
  const own = jsonObjects(tools).find(({ type = "custom" }) => type !== null && type !== "custom");
  if (own !== undefined) throw cannotRun(jsonText(own["type"]));
}

function systemOf(system: string | v.InferOutput<typeof textBlock>[]): string {
  return typeof system === "string" ? system : system.map((one) => one.text).join("\n\n");
}

function toolsOf({ tools, tool_choice: choice, messages }: MessagesRequest): Partial<Chat> {
  const loaded = loadedTools(messages);
  const known = (tools ?? []).filter((one) => one.defer_loading !== true || loaded.has(one.name));
  if (known.length === 0) return {};
  return {
    tools: known.map(({ name, description, input_schema: parameters, strict }) => ({
      type: "function",
      function: {
        name,
        ...(description == null ? {} : { description }),
        parameters,
        ...(strict == null ? {} : { strict }),
      },
    })),
    tool_choice: choiceOf(choice),
    parallel_tool_calls: choice?.["disable_parallel_tool_use"] === true ? false : null,
  };
}

/** Names the tools that results of a search have loaded: the model does not see a deferred one before. */
function loadedTools(messages: MessagesRequest["messages"]): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  const results = blocks.flatMap((one) =>
    one.type === "tool_result" && typeof one.content !== "string" ? one.content : [],
  );
  return new Set(results.flatMap((one) => (one.type === "tool_reference" ? [one.tool_name] : [])));
}

function choiceOf(choice: MessagesRequest["tool_choice"]): Chat["tool_choice"] {
  if (choice == null) return null;
  if (choice.type === "tool") return { type: "function", function: { name: choice.name } };
  return choice.type === "any" ? "required" : choice.type;
}

/** Turns a message into a chat's: the results of tool calls become messages of their own, in front of the user's text. */
function messagesOf({ role, content }: v.InferOutput<typeof message>): ChatMessage[] {
  const given: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (role === "assistant") return [assistantMessage(given)];
  const results = given.flatMap(resultMessage);
  const parts = given.flatMap((one) => (one.type === "tool_result" ? [] : [partOf(one)]));
  return parts.length === 0 ? results : [...results, { role, content: parts }];
}

function resultMessage(one: Block): ToolMessage[] {
  if (one.type !== "tool_result") return [];
  const { tool_use_id: id, content, is_error: failed } = one;
  return [
    {
      role: "tool",
      tool_call_id: id,
      content: typeof content === "string" ? content : content.map(partOf),
      failed: failed === true,
    },
  ];
}

function assistantMessage(given: readonly Block[]): ChatMessage {
  const before = { text: 0, calls: 0 };
  const reasoning = given.flatMap((one): ChatReasoning[] => {
    if (one.type === "text") before.text += one.text.length;
    if (one.type === "tool_use") before.calls++;
    if (one.type === "redacted_thinking")
      return [{ text: "", hidden: one.data, ...placed(before) }];
    if (one.type !== "thinking") return [];
    const { thinking, signature } = one;
    const thought = { text: thinking, ...placed(before) };
    return [signature === "" ? thought : { ...thought, signature }];
  });
  const calls = given.flatMap((one) =>
    one.type === "tool_use"
      ? [
          {
            id: one.id,
            function: { name: one.name, arguments: JSON.stringify(one.input ?? {}) },
            extra_content: one.extra_content,
          },
        ]
      : [],
  );
  const spoken = given.filter(({ type }) => !/thinking|tool_use/.test(type)).map(partOf);
  return { role: "assistant", content: spoken, tool_calls: calls, reasoning };
}

function partOf(one: Block | ResultBlock): ChatPart {
  if (one.type === "text") return { type: "text", text: one.text };
  if (one.type === "tool_reference")
    return { type: "text", text: `The tool ${one.tool_name} is loaded.` };
  if (one.type === "image") return { type: "image_url", image_url: { url: urlOf(one.source) } };
  if (one.type !== "document") throw cannot(`content ${one.type}`);
  if (one.source.type === "text") return { type: "text", text: one.source.data };
  return { type: "file", file: { file_data: urlOf(one.source), filename: one.title } };
}

function urlOf(given: v.InferOutput<typeof source>): string {
  if (given.type === "url") return given.url;
  if (given.type === "base64") return `data:${given.media_type};base64,${given.data}`;
  throw cannot(`source ${given.type}`);
}
