import {
  dataEvents,
  fingerprint,
  namedEvents,
  type NativeReply,
  type NativeRequest,
  soundBytes,
  spoken,
  spokenParts,
  toolArguments,
} from "./native-model.ts";

/** The OpenAI API: chat, responses, embeddings, files and audio; undefined for another's path. */
export async function openaiReply(request: NativeRequest): Promise<NativeReply | undefined> {
  const route = `${request.method} ${request.path.split("?")[0]}`;
  const handler = Object.hasOwn(routes, route) ? routes[route] : undefined;
  if (handler === undefined) return undefined;
  if (request.header("authorization")?.startsWith("Bearer sk-") !== true) {
    return failure(401, "invalid_api_key", "Incorrect API key provided");
  }
  if (request.json["model"] === "missing-model") {
    return failure(404, "model_not_found", "The model `missing-model` does not exist");
  }
  return handler(request);
}

const routes: Record<string, (request: NativeRequest) => NativeReply | Promise<NativeReply>> = {
  "POST /v1/chat/completions": chat,
  "POST /v1/responses": responses,
  "POST /v1/embeddings": embeddings,
  "POST /v1/files": upload,
  "GET /v1/files/file-1/content": () => ({ bytes: soundBytes, type: "application/octet-stream" }),
  "POST /v1/audio/speech": () => ({ bytes: soundBytes, type: "audio/mpeg" }),
  "POST /v1/audio/transcriptions": transcription,
};

function failure(status: number, code: string, message: string): NativeReply {
  const error = { message, type: "invalid_request_error", param: null, code };
  return { status, json: { error }, headers: { "x-request-id": "req-of-the-provider" } };
}

function chat({ json }: NativeRequest): NativeReply {
  const messages = json["messages"] as { role: string; content: unknown }[];
  const tools = json["tools"] as { function: { name: string } }[] | undefined;
  const result = messages.find(({ role }) => role === "tool");
  const call = result === undefined && tools?.[0] !== undefined ? tools[0].function.name : null;
  const head = { id: "chatcmpl-1", created: 1_700_000_000, model: json["model"] };
  const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
  const toolCalls = [
    {
      index: 0,
      id: "call_1",
      type: "function",
      function: { name: call, arguments: JSON.stringify(toolArguments) },
    },
  ];
  const content = result === undefined ? spoken : `The tool said ${JSON.stringify(result.content)}`;
  const finish = call === null ? "stop" : "tool_calls";
  if (json["stream"] !== true) {
    const message =
      call === null
        ? { role: "assistant", content, refusal: null }
        : { role: "assistant", content: null, refusal: null, tool_calls: toolCalls };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
    return { json: { ...head, object: "chat.completion", choices, usage } };
  }
  const chunk = (delta: object, finishReason: string | null = null): object => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
  const deltas =
    call === null
      ? (result === undefined ? spokenParts : [content]).map((text) => chunk({ content: text }))
      : [chunk({ tool_calls: toolCalls })];
  const options = json["stream_options"] as { include_usage?: boolean } | undefined;
  const last = { ...head, object: "chat.completion.chunk", choices: [], usage };
  const events = dataEvents([
    chunk({ role: "assistant", content: call === null ? "" : null }),
    ...deltas,
    chunk({}, finish),
    ...(options?.include_usage === true ? [last] : []),
  ]);
  return { events: `${events}data: [DONE]\n\n` };
}

function responses({ json }: NativeRequest): NativeReply {
  const item = (text: string, status: string): object => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    status,
    content: status === "completed" ? [{ type: "output_text", text, annotations: [] }] : [],
  });
  const response = (status: string): object => ({
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    model: json["model"],
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    temperature: 1,
    top_p: 1,
    output: status === "completed" ? [item(spoken, "completed")] : [],
    usage:
      status === "completed"
        ? {
            input_tokens: 12,
            input_tokens_details: { cached_tokens: 2 },
            output_tokens: 5,
            output_tokens_details: { reasoning_tokens: 1 },
            total_tokens: 17,
          }
        : null,
  });
  if (json["stream"] !== true) return { json: response("completed") };
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const empty = { type: "output_text", text: "", annotations: [] };
  const payloads = [
    { type: "response.created", response: response("in_progress") },
    { type: "response.output_item.added", output_index: 0, item: item("", "in_progress") },
    { type: "response.content_part.added", ...place, part: empty },
    ...spokenParts.map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
    { type: "response.output_text.done", ...place, text: spoken },
    { type: "response.content_part.done", ...place, part: { ...empty, text: spoken } },
    { type: "response.output_item.done", output_index: 0, item: item(spoken, "completed") },
    { type: "response.completed", response: response("completed") },
  ];
  return {
    events: namedEvents(payloads.map((one, index) => ({ ...one, sequence_number: index }))),
  };
}

function embeddings({ json }: NativeRequest): NativeReply {
  const vector = Float32Array.of(0.25, -0.5, 1);
  const base64 = Buffer.from(vector.buffer).toString("base64");
  const embedding = json["encoding_format"] === "base64" ? base64 : [...vector];
  const input = Array.isArray(json["input"]) ? json["input"] : [json["input"]];
  const data = input.map((_, index) => ({ object: "embedding", index, embedding }));
  const usage = { prompt_tokens: 6, total_tokens: 6 };
  return { json: { object: "list", model: json["model"], data, usage } };
}

async function upload(request: NativeRequest): Promise<NativeReply> {
  const form = await request.form();
  const file = form.get("file") as File;
  const sum = fingerprint(new Uint8Array(await file.arrayBuffer()));
  const json = {
    id: "file-1",
    object: "file",
    bytes: file.size,
    created_at: 1_700_000_000,
    filename: file.name,
    purpose: form.get("purpose"),
    status: "processed",
    status_details: sum,
  };
  return { json };
}

async function transcription(request: NativeRequest): Promise<NativeReply> {
  const form = await request.form();
  const file = form.get("file") as File;
  const sum = fingerprint(new Uint8Array(await file.arrayBuffer()));
  const usage = { type: "tokens", input_tokens: 14, output_tokens: 3, total_tokens: 17 };
  if (form.get("stream") !== "true") {
    return { json: { text: `${file.name} ${sum}`, usage } };
  }
  const deltas = spokenParts.map((delta) => ({ type: "transcript.text.delta", delta }));
  return { events: dataEvents([...deltas, { type: "transcript.text.done", text: spoken, usage }]) };
}
