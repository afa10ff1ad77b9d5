import { responseNote, noteResponse, type RequestEffect } from "./response-note.ts";
import type { ErrorFacts } from "./api-error.ts";

/** The three bodies in which an error travels: the API's envelope, the gateway's, and OpenAI's. */
export type ErrorShape = "api" | "gateway" | "openai";

/** Members of a success envelope beside `result`. */
export interface EnvelopeExtras {
  readonly messages?: readonly unknown[];
  /** Paging facts of a list (`page`, `per_page`, `count`, `total_count`). */
  readonly resultInfo?: Readonly<Record<string, unknown>>;
  /** Facts about a rendering. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** @default 200 */
  readonly status?: number;
  /** The effect of the request, for the console. */
  readonly made?: RequestEffect;
}

export function json(
  body: unknown,
  status: number = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return textResponse(JSON.stringify(body), status, headers);
}

function textResponse(
  body: string,
  status: number,
  headers: Readonly<Record<string, string>>,
  error?: ErrorFacts,
): Response {
  const response = new Response(body, {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
  });
  return noteResponse(response, error === undefined ? { body } : { body, error });
}

/** The success envelope `{result, success, errors, messages}` of the API. */
export function envelope(result: unknown, extras: EnvelopeExtras = {}): Response {
  const response = json(envelopeBody(result, extras), extras.status);
  const { made } = extras;
  return made === undefined
    ? response
    : noteResponse(response, { ...responseNote(response), made });
}

/** The body of {@link envelope}. */
export function envelopeBody(
  result: unknown,
  extras: Pick<EnvelopeExtras, "messages" | "resultInfo" | "meta"> = {},
): Record<string, unknown> {
  return {
    result,
    success: true,
    errors: [],
    messages: extras.messages ?? [],
    ...(extras.resultInfo === undefined ? {} : { result_info: extras.resultInfo }),
    ...(extras.meta === undefined ? {} : { meta: extras.meta }),
  };
}

/** The body of an error in one of the three shapes. */
export function errorBody(error: ErrorFacts, shape: ErrorShape): Record<string, unknown> {
  const { details, body } = error.options;
  if (shape === "openai") {
    const type = error.status >= 500 ? "server_error" : "invalid_request_error";
    return {
      error: { message: error.message, type, param: null, code: error.kind, ...details },
      ...body,
    };
  }
  const entry = { code: error.code, message: error.message, ...details };
  const base = { result: null, success: false, errors: [entry], messages: [] };
  if (shape === "api") return { ...base, ...body };
  // Gateway clients read `error` (singular); see docs/compatibility.md.
  return { ...base, error: [entry], name: "AiGatewayError", internalCode: error.code, ...body };
}

/** The response for an error in one of the three shapes; `body` is its text, where that is known. */
export function errorResponse(
  error: ErrorFacts,
  shape: ErrorShape,
  headers: Readonly<Record<string, string>> = {},
  body: string = JSON.stringify(errorBody(error, shape)),
): Response {
  return textResponse(body, error.status, { ...headers, ...error.options.headers }, error);
}
