import {
  namedEvents,
  spoken,
  spokenParts,
  toolArguments,
  type NativeReply,
  type NativeRequest,
} from "./native-model.ts";

/** The Anthropic API: messages and their token count; undefined for another's path. */
export function anthropicReply(request: NativeRequest): NativeReply | undefined {
  const path = request.path.split("?")[0];
  if (request.method !== "POST" || !/^\/v1\/messages(?:\/count_tokens)?$/u.test(path ?? "")) {
    return undefined;
  }
  const key = request.header("x-api-key") ?? request.header("authorization") ?? "";
  if (!/^(?:Bearer )?sk-/u.test(key)) return failure(401, "authentication_error");
  if (request.json["model"] === "missing-model") return failure(404, "not_found_error");
  if (path === "/v1/messages/count_tokens") return { json: { input_tokens: 21 } };
  return message(request.json);
}

function failure(status: number, type: string): NativeReply {
  const error = { type, message: `A provider's ${type}` };
  return {
    status,
    json: { type: "error", error, request_id: "req_1" },
    headers: { "request-id": "req_1" },
  };
}

interface OfferedTool {
  readonly name: string;
  readonly input_schema: { readonly required?: readonly string[] };
}

/** A tool that wants one text gets one. */
function argumentsFor(tool: OfferedTool | undefined): object {
  const [only, ...others] = tool?.input_schema.required ?? [];
  return only === "input" && others.length === 0 ? { input: spoken } : toolArguments;
}

function message(json: Record<string, unknown>): NativeReply {
  const turns = json["messages"] as { content: unknown }[];
  const tools = json["tools"] as OfferedTool[] | undefined;
  const result = turns
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .find((block: { type: string }) => block.type === "tool_result") as object | undefined;
  const calls = result === undefined && tools?.[0] !== undefined;
  const text = result === undefined ? spoken : `The tool said ${JSON.stringify(result)}`;
  const use = { type: "tool_use", id: "toolu_1", name: tools?.[0]?.name ?? "" };
  const args = argumentsFor(tools?.[0]);
  const usage = { input_tokens: 13, cache_creation_input_tokens: 0, cache_read_input_tokens: 4 };
  const base = { id: "msg_1", type: "message", role: "assistant", model: json["model"] };
  const stop = calls ? "tool_use" : "end_turn";
  if (json["stream"] !== true) {
    const content = calls ? [{ ...use, input: args }] : [{ type: "text", text }];
    const end = { stop_reason: stop, stop_sequence: null, usage: { ...usage, output_tokens: 6 } };
    return { json: { ...base, content, ...end } };
  }
  const start = { ...base, content: [], stop_reason: null, stop_sequence: null };
  const input = JSON.stringify(args);
  const deltas = calls
    ? [input.slice(0, 5), input.slice(5)].map((part) => ({
        type: "input_json_delta",
        partial_json: part,
      }))
    : (result === undefined ? spokenParts : [text]).map((part) => ({
        type: "text_delta",
        text: part,
      }));
  const events = [
    { type: "message_start", message: { ...start, usage: { ...usage, output_tokens: 1 } } },
    {
      type: "content_block_start",
      index: 0,
      content_block: calls ? { ...use, input: {} } : { type: "text", text: "" },
    },
    { type: "ping" },
    ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: 6 },
    },
    { type: "message_stop" },
  ];
  return { events: namedEvents(events) };
}
