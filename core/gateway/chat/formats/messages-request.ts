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
const listed = <S extends v.GenericSchema>(block: S) =>
  v.lazy((given) => (Array.isArray(given) ? v.array(block) : v.string("expected text or blocks")));
const documentBlock = v.looseObject({
  type: v.literal("document"),
  source: v.variant("type", [
    ...source.options,
    v.looseObject({
      type: v.literal("content"),
      content: listed(v.variant("type", [textBlock, imageBlock])),
    }),
  ]),
  title: v.nullish(text),
});
const searchResult = v.looseObject({
  type: v.literal("search_result"),
  source: text,
  title: text,
  content: v.array(textBlock),
});
const referenceBlock = v.looseObject({ type: v.literal("tool_reference"), tool_name: text });
const resultBlock = v.variant("type", [
  textBlock,
  imageBlock,
  documentBlock,
  searchResult,
  referenceBlock,
]);
/** Blocks about tools that Anthropic ran itself (`BetaContentBlockParam` of its SDK): only Anthropic can read them. */
const ownBlock = v.looseObject({
  type: v.picklist([
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "mcp_tool_listing",
    "fallback",
  ]),
});
const block = v.variant("type", [
  textBlock,
  imageBlock,
  documentBlock,
  searchResult,
  ownBlock,
  v.looseObject({ type: v.literal("compaction"), content: v.nullish(text) }),
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
      ...sinceCompaction(request.messages).flatMap(messagesOf),
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

/**
 * Returns the messages from the last summary on, which stands for all before it: the API ignores those
 * (https://platform.claude.com/docs/en/build-with-claude/compaction).
 */
function sinceCompaction(messages: MessagesRequest["messages"]): MessagesRequest["messages"] {
  const isSummary = (one: Block): boolean => one.type === "compaction" && one.content != null;
  const at = messages.findLastIndex(({ content }) =>
    typeof content === "string" ? false : content.some(isSummary),
  );
  const { role = "assistant", content = "" } = messages[at] ?? {};
  if (typeof content === "string") return messages;
  const kept = content.slice(content.findLastIndex(isSummary));
  return [{ role, content: kept }, ...messages.slice(at + 1)];
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
  const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  // The model's words about what its provider ran follow in a text.
  const given = blocks.filter((one) => !v.is(ownBlock, one));
  if (role === "assistant") return [assistantMessage(given)];
  const results = given.flatMap(resultMessage);
  const parts = given.flatMap((one) => (one.type === "tool_result" ? [] : partsOf(one)));
  return parts.length === 0 ? results : [...results, { role, content: parts }];
}

function resultMessage(one: Block): ToolMessage[] {
  if (one.type !== "tool_result") return [];
  const { tool_use_id: id, content, is_error: failed } = one;
  return [
    {
      role: "tool",
      tool_call_id: id,
      content: typeof content === "string" ? content : content.flatMap(partsOf),
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
  const spoken = given.filter(({ type }) => !/thinking|tool_use/.test(type)).flatMap(partsOf);
  return { role: "assistant", content: spoken, tool_calls: calls, reasoning };
}

function partsOf(one: Block | ResultBlock): ChatPart[] {
  switch (one.type) {
    case "text":
      return [{ type: "text", text: one.text }];
    case "compaction":
      return [{ type: "text", text: one.content ?? "" }];
    case "tool_reference":
      return [{ type: "text", text: `The tool ${one.tool_name} is loaded.` }];
    case "search_result":
      return [{ type: "text", text: foundText(one) }];
    case "image":
      return [{ type: "image_url", image_url: { url: urlOf(one.source) } }];
    case "document":
      return documentParts(one);
    default:
      throw cannot(`content ${one.type}`);
  }
}

function foundText({ title, source: from, content }: v.InferOutput<typeof searchResult>): string {
  return [`${title}\n${from}`, ...content.map((one) => one.text)].join("\n\n");
}

function documentParts({ source: from, title }: v.InferOutput<typeof documentBlock>): ChatPart[] {
  if (from.type === "text") return [{ type: "text", text: from.data }];
  if (from.type !== "content")
    return [{ type: "file", file: { file_data: urlOf(from), filename: title } }];
  const { content } = from;
  return typeof content === "string" ? [{ type: "text", text: content }] : content.flatMap(partsOf);
}

function urlOf(given: v.InferOutput<typeof source>): string {
  if (given.type === "url") return given.url;
  if (given.type === "base64") return `data:${given.media_type};base64,${given.data}`;
  throw cannot(`source ${given.type}`);
}
