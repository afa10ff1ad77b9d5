import { longBase64 } from "../../http/json/long-json.ts";
import type { System } from "../../ports.ts";
import type { NamedChatModel, Ocr } from "../models/search-deps.ts";
import { modelAnswerer } from "./model-answerer.ts";
import { withoutThoughts } from "./rewrite-query.ts";

const PROMPT =
  "Write down the text of this picture, word for word, in the order of reading: headings, lists and tables as Markdown. Write nothing else, and nothing at all if it has no text.";

/**
 * Reads pictures with a chat model that sees them, e.g. one of `openAiChatModel()`.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { modelOcr, openAiChatModel, search } from "causey/search";
 * import { fileReader } from "causey/search/files";
 *
 * const platform = await memoryPlatform();
 * const endpoint = { baseUrl: "http://localhost:11434/v1", model: "qwen2.5vl" };
 * const ocr = modelOcr(openAiChatModel(endpoint, platform.transport), platform.system);
 * const app = search({ platform, readFile: fileReader, ocr });
 * ```
 */
export function modelOcr(model: NamedChatModel, system: System): Ocr {
  return async ({ bytes, type }, signal) => {
    const url = longBase64(bytes, `data:${type};base64,`);
    const ask = modelAnswerer(model, system, () => [
      {
        role: "user",
        content: [
          { type: "text", text: PROMPT },
          { type: "image_url", image_url: { url } },
        ],
      },
    ]);
    const { content } = await ask.complete(
      { query: "", messages: [], chunks: [], parameters: {}, model: model.model ?? "default" },
      signal,
    );
    return withoutThoughts(content);
  };
}
