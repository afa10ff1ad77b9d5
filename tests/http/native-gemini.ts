import {
  dataEvents,
  spoken,
  spokenParts,
  toolArguments,
  type NativeReply,
  type NativeRequest,
} from "./native-model.ts";

/** The Gemini API: a method of a model, named after a colon; undefined for another's path. */
export function geminiReply(request: NativeRequest): NativeReply | undefined {
  if (request.path.startsWith("/upload/")) return uploadReply(request);
  const found = /^\/v1(?:beta)?\/models\/([^/:]+):(\w+)(?:\?(.*))?$/u.exec(request.path);
  if (request.method !== "POST" || found === null) return undefined;
  const [, model = "", method = "", query = ""] = found;
  if (request.header("x-goog-api-key")?.startsWith("sk-") !== true) {
    return failure(400, "INVALID_ARGUMENT", "API key not valid");
  }
  if (model === "missing-model") return failure(404, "NOT_FOUND", `No model ${model}`);
  if (method === "countTokens") return { json: { totalTokens: 31 } };
  if (method === "batchEmbedContents") {
    const requests = request.json["requests"] as unknown[];
    return { json: { embeddings: requests.map(() => ({ values: [0.25, -0.5, 1] })) } };
  }
  const tools = request.json["tools"] as { functionDeclarations: { name: string }[] }[] | undefined;
  const name = tools?.[0]?.functionDeclarations[0]?.name;
  const call = { functionCall: { name, args: toolArguments } };
  if (method === "generateContent") {
    return { json: chunk(model, name === undefined ? { text: spoken } : call, "STOP") };
  }
  if (method !== "streamGenerateContent" || query !== "alt=sse") return undefined;
  if (name !== undefined) return { events: dataEvents([chunk(model, call, "STOP")]) };
  const last = spokenParts.length - 1;
  const chunks = spokenParts.map((text, index) =>
    chunk(model, { text }, index === last ? "STOP" : undefined),
  );
  return { events: dataEvents(chunks) };
}

/** A resumable upload: the first answer says where to go on, as Google does, by its own address. */
function uploadReply({ path, header, json }: NativeRequest): NativeReply | undefined {
  if (header("x-goog-upload-command") === "start") {
    const url = "https://generativelanguage.googleapis.com/upload/v1beta/files?upload_id=u%2F1";
    return { json: {}, headers: { "x-goog-upload-url": url } };
  }
  if (path !== "/upload/v1beta/files?upload_id=u%2F1") return undefined;
  const sizeBytes = String(JSON.stringify(json).length);
  const headers = { "x-goog-upload-status": "final" };
  return { json: { file: { name: "files/u-1", sizeBytes } }, headers };
}

function failure(code: number, status: string, message: string): NativeReply {
  return { status: code, json: { error: { code, message, status } } };
}

function chunk(model: string, part: object, finishReason: string | undefined): object {
  return {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason, index: 0 }],
    usageMetadata: {
      promptTokenCount: 9,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 2,
      totalTokenCount: 16,
    },
    modelVersion: model,
    responseId: "r-1",
  };
}
