import { formatEvent } from "../../../http/sse.ts";
import { type ChatUsage, chatUsage } from "../chat-format.ts";
import { noUsage } from "../usage.ts";
import { type Json, jsonObject, parsedObject } from "../../../http/json.ts";
import type { Block, BlockEvents } from "../block.ts";
import { blocksOf, blockStream } from "../blocks.ts";
import { failure } from "./chat-reply.ts";
import { HIDDEN, readResponses } from "./responses-request.ts";
import { customInput } from "./custom-tools.ts";
import { type ClientTools, clientTools } from "./responses-tools.ts";
import type { ReplyContext, ChatFront, ChatReply, StreamWriter } from "../reply.ts";

/**
 * OpenAI's Responses format, without what needs a provider that keeps state. A thought is a reasoning item:
 * its text the summary, what its provider wants back the encrypted content.
 */
export const responsesFront: ChatFront = { read: readResponses, reply: whole, stream, failure };

/** How far an answer is. */
interface Progress {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly model: string;
  readonly blocks: readonly Block[];
  readonly usage?: ChatUsage;
  readonly reason?: string | null;
}

function whole(reply: ChatReply, context: ReplyContext): object {
  const { model, usage, finishReason: reason } = reply;
  const progress = { ...ending(reason), model, blocks: blocksOf(reply), usage, reason };
  return response(context, itemsOf(context), progress);
}

function ending(reason: string | null): Pick<Progress, "status"> {
  const isCut = reason === "length" || reason === "content_filter";
  return { status: isCut ? "incomplete" : "completed" };
}

function response(
  { chat, given, id, created }: ReplyContext,
  items: ItemContext,
  progress: Progress,
): object {
  const { status, model, blocks, usage, reason } = progress;
  const cut = reason === "length" ? "max_output_tokens" : "content_filter";
  const echoed = Object.entries(defaults).map(([key, value]) => [key, given[key] ?? value]);
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: created,
    status,
    background: false,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: cut } : null,
    model: model === "" ? chat.model : model,
    // Only the last block can have been cut.
    output: blocks.map((block) =>
      item(block, items, block === blocks.at(-1) ? status : "completed"),
    ),
    previous_response_id: null,
    store: false,
    truncation: "disabled",
    usage: usage === undefined ? null : usageOf(usage),
    ...(Object.fromEntries(echoed) as Json),
  };
}

/** Members that repeat the request's, with their values for a request that leaves them out. */
const defaults: Json = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: null,
  user: null,
};

function usageOf(usage: ChatUsage): object {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cache_write_tokens: 0, ...usage.prompt_tokens_details },
    output_tokens: usage.completion_tokens,
    output_tokens_details: usage.completion_tokens_details ?? { reasoning_tokens: 0 },
    total_tokens: usage.total_tokens,
  };
}

const callPrefixes = { function: "fc", custom: "ctc", tool_search: "tsc" } as const;
const prefixes = { thought: "rs", text: "msg", refusal: "msg", image: "ig", call: "fc" } as const;

interface ItemContext {
  readonly id: string;
  /** The tools whose calls are items of their own type or namespace. */
  readonly tools: ClientTools;
}

function itemsOf({ id, given }: ReplyContext): ItemContext {
  return { id, tools: clientTools(given) };
}

/** Returns the type of the tool that a block calls; null for another block. */
function toolType({ kind, name }: Block, { tools }: ItemContext): CallType | null {
  return kind === "call" ? (tools.get(name)?.type ?? "function") : null;
}

type CallType = keyof typeof callPrefixes;

function itemId(block: Block, context: ItemContext): string {
  const type = toolType(block, context);
  const prefix = type === null ? prefixes[block.kind] : callPrefixes[type];
  return `${prefix}_${context.id}_${block.index}`;
}

/** Returns a block whose call has the name that the client knows. */
function named(block: Block, { tools }: ItemContext): Block {
  const name = tools.get(block.name)?.name;
  return name === undefined ? block : { ...block, name };
}

/** Returns the item of a call; the input of a tool that is not a function is JSON only on its way. */
function callItem(block: Block, context: ItemContext, base: Json): Json {
  const { id: callId, name: wire, text, extra } = block;
  const { name = wire, namespace } = context.tools.get(wire) ?? {};
  const type = toolType(block, context);
  if (type === "tool_search") {
    const made = { execution: "client", arguments: parsedObject(text) ?? {} };
    return { ...base, type: "tool_search_call", call_id: callId, ...made };
  }
  const kept = {
    ...base,
    call_id: callId,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  };
  if (type === "custom")
    return { ...kept, type: "custom_tool_call", input: text === "" ? "" : customInput(text) };
  const signed = extra === undefined ? {} : { extra_content: extra };
  return { ...kept, type: "function_call", arguments: text, ...signed };
}

function item(block: Block, context: ItemContext, status: Progress["status"]): Json {
  const base = { id: itemId(block, context) };
  if (block.kind === "thought") {
    const { signature, hidden } = block.reasoning ?? {};
    const secret = hidden === undefined ? signature : HIDDEN + hidden;
    return {
      ...base,
      type: "reasoning",
      summary: block.text === "" ? [] : [summary(block.text)],
      ...(secret === undefined ? {} : { encrypted_content: secret }),
    };
  }
  if (block.kind === "image") {
    const isDone = status !== "in_progress";
    const result = isDone ? block.text.slice(block.text.indexOf(",") + 1) : null;
    return {
      ...base,
      type: "image_generation_call",
      status: isDone ? "completed" : status,
      result,
    };
  }
  if (block.kind === "call") return callItem(block, context, { ...base, status });
  return {
    ...base,
    type: "message",
    status,
    role: "assistant",
    content: [part(block, block.text)],
  };
}

function summary(text: string): object {
  return { type: "summary_text", text };
}

function part({ kind }: Block, text: string): object {
  return kind === "refusal"
    ? { type: "refusal", refusal: text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
}

function stream(context: ReplyContext): StreamWriter {
  let sequence = 0;
  const emit = (type: string, more: object): string =>
    formatEvent({
      event: type,
      data: JSON.stringify({ type, sequence_number: sequence++, ...more }),
    });
  const items = itemsOf(context);
  const writer = blockStream(blockEvents(items, emit));
  let model = "";
  let usage: ChatUsage = chatUsage(noUsage);
  let reason: string | null = null;
  const progressOf = (status: Progress["status"]): Progress => ({
    status,
    model,
    blocks: writer.blocks,
  });
  const snapshot = (status: Progress["status"], last: Partial<Progress> = {}): object => ({
    response: response(context, items, { ...progressOf(status), ...last }),
  });
  return {
    add(event) {
      const isFirst = sequence === 0;
      model = event.model || model;
      usage = event.usage ?? usage;
      reason = event.finishReason ?? reason;
      const begun = isFirst
        ? emit("response.created", snapshot("in_progress")) +
          emit("response.in_progress", snapshot("in_progress"))
        : "";
      return begun + writer.add(event.delta ?? {});
    },
    end() {
      const { status } = ending(reason);
      return writer.end() + emit(`response.${status}`, snapshot(status, { usage, reason }));
    },
    error(given) {
      const { code, message } = failure(given).error;
      const error = { code: code ?? "server_error", message };
      // OpenAI's clients stop at the first event, Codex reads the second one.
      return (
        emit("error", { ...error, param: null }) +
        emit("response.failed", {
          response: { ...response(context, items, progressOf("failed")), error },
        })
      );
    },
  };
}

type Emit = (type: string, more: object) => string;

function blockEvents(context: ItemContext, emit: Emit): BlockEvents {
  const place = (block: Block): object => ({
    item_id: itemId(block, context),
    output_index: block.index,
    ...(block.kind === "thought" ? { summary_index: 0 } : {}),
    ...(block.kind === "text" || block.kind === "refusal" ? { content_index: 0 } : {}),
  });
  const opened = new Set<Block>();
  /** A thought may turn out to have no text, and a call has no parts. */
  const partOpened = (block: Block): string => {
    if (block.kind === "call" || block.kind === "image" || opened.has(block)) return "";
    opened.add(block);
    const [type, empty] =
      block.kind === "thought"
        ? ["response.reasoning_summary_part.added", summary("")]
        : ["response.content_part.added", part(block, "")];
    return emit(type, { ...place(block), part: empty });
  };
  return {
    open(block) {
      const begun = { ...item(block, context, "in_progress") };
      if (block.kind === "text" || block.kind === "refusal") begun["content"] = [];
      return emit("response.output_item.added", { output_index: block.index, item: begun });
    },
    piece(block, delta) {
      // The arguments of a custom tool are JSON around its input, which is told at once.
      const isWhole = block.kind === "call" && toolType(block, context) !== "function";
      if (block.kind === "image" || isWhole) return "";
      const event = { ...place(block), delta, ...(block.kind === "text" ? { logprobs: [] } : {}) };
      return partOpened(block) + emit(`response.${names[block.kind]}.delta`, event);
    },
    close(block) {
      const done = { output_index: block.index, item: item(block, context, "completed") };
      const type = toolType(block, context);
      const last =
        type === "custom"
          ? customClosing(block, place(block), emit)
          : type === "tool_search"
            ? ""
            : closing(named(block, context), opened.has(block), place(block), emit);
      return last + emit("response.output_item.done", done);
    },
  };
}

const names = {
  thought: "reasoning_summary_text",
  text: "output_text",
  refusal: "refusal",
  call: "function_call_arguments",
} as const;

function customClosing({ text }: Block, place: object, emit: Emit): string {
  const input = customInput(text);
  const type = "response.custom_tool_call_input";
  return (
    emit(`${type}.delta`, { ...place, delta: input }) + emit(`${type}.done`, { ...place, input })
  );
}

function closing(block: Block, hasPart: boolean, place: object, emit: Emit): string {
  const { kind, text, name } = block;
  if (kind === "image") return "";
  const type = `response.${names[kind]}.done`;
  if (kind === "call") return emit(type, { ...place, name, arguments: text });
  if (!hasPart) return "";
  if (kind === "thought") {
    const finished = { ...place, part: summary(text) };
    return emit(type, { ...place, text }) + emit("response.reasoning_summary_part.done", finished);
  }
  const said = kind === "refusal" ? { refusal: text } : { text, logprobs: [] };
  const done = { ...place, part: jsonObject(part(block, text)) };
  return emit(type, { ...place, ...said }) + emit("response.content_part.done", done);
}
