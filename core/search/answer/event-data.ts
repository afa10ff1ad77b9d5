import { ApiError } from "../../http/api-error.ts";

/** Characters of one event that are kept: a source without line breaks must not fill the memory. */
const MAX_EVENT = 1024 * 1024;

/** The data of each server-sent event of a stream (WHATWG HTML, section 9.2.6). Ends the stream when left early. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A CR at the end may be the first half of CRLF: it waits for the next bytes.
      const complete = rest.endsWith("\r") && !done ? rest.length - 1 : rest.length;
      const lines = rest.slice(0, complete).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? "") + rest.slice(complete);
      for (const line of lines) {
        if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:"))
          data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      }
      if (rest.length + data.reduce((sum, line) => sum + line.length, 0) > MAX_EVENT) {
        throw new ApiError("chat_model_failed", {
          message: `An event of the chat model is over ${MAX_EVENT} characters`,
        });
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
