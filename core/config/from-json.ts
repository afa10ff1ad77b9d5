import { ApiError } from "../http/api-error.ts";

/** Reads JSON text; `what` names it in the error, which quotes none of the text: that may hold secrets. */
export function fromJson(text: string, what: string): unknown {
  try {
    // Editors on Windows begin a file with a byte order mark.
    return JSON.parse(text.replace(/^\uFEFF/u, ""));
  } catch (error) {
    // Engines quote the text around the mistake: V8 in double quotes, JavaScriptCore the word itself.
    const reason = error instanceof Error ? error.message.replace(/[\s,.:]*"[^]*$/u, "") : "";
    throw new ApiError("invalid_request", { message: `${what} is not valid JSON: ${reason}` });
  }
}
