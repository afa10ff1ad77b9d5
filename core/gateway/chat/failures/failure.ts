import { type Json, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";

/** The kinds of failures that clients handle in different ways. */
export type FailureKind =
  | "authentication"
  | "content_filter"
  | "context_too_long"
  | "failed"
  | "invalid"
  | "not_found"
  | "overloaded"
  | "permission"
  | "quota"
  | "rate_limit"
  | "too_large";

export interface ProviderFailure {
  readonly kind: FailureKind;
  readonly message: string;
  /** The status of the answer that reports it. */
  readonly status: number;
  /** Seconds after which the provider wants to be asked again, where its error says so. */
  readonly retryAfter?: number;
}

/** The words of providers for kinds, as types, codes or statuses of errors (OpenAI, Anthropic, Google, Azure). */
const words: ReadonlyMap<string, FailureKind> = new Map(
  Object.entries<FailureKind>({
    authentication_error: "authentication",
    billing_error: "quota",
    content_filter: "content_filter",
    content_policy_violation: "content_filter",
    context_length_exceeded: "context_too_long",
    insufficient_quota: "quota",
    invalid_api_key: "authentication",
    invalid_argument: "invalid",
    invalid_request_error: "invalid",
    model_not_found: "not_found",
    not_found: "not_found",
    not_found_error: "not_found",
    overloaded: "overloaded",
    overloaded_error: "overloaded",
    permission_denied: "permission",
    permission_error: "permission",
    rate_limit_error: "rate_limit",
    rate_limit_exceeded: "rate_limit",
    request_too_large: "too_large",
    resource_exhausted: "rate_limit",
    server_is_overloaded: "overloaded",
    slow_down: "overloaded",
    unauthenticated: "authentication",
    unavailable: "overloaded",
  }),
);

const statuses: Readonly<Record<number, FailureKind>> = {
  401: "authentication",
  402: "quota",
  403: "permission",
  404: "not_found",
  413: "too_large",
  429: "rate_limit",
  529: "overloaded",
};

/** The statuses of failures that an answer reports with one of success. */
const ownStatus: Readonly<Record<FailureKind, number>> = {
  authentication: 502,
  content_filter: 400,
  context_too_long: 400,
  failed: 502,
  invalid: 400,
  not_found: 404,
  overloaded: 503,
  permission: 502,
  quota: 429,
  rate_limit: 429,
  too_large: 413,
};

/** How providers say that a conversation is too long; most have no code for it. */
const TOO_LONG =
  /(?:prompt|input) is too long|context[ _-](?:length|window|limit|size)|maximum (?:context|prompt) length|(?:input|token)s? (?:token )?count.{0,40}exceeds|exceeds? the (?:available|maximum|model's) (?:context|number of (?:input )?tokens)|too many (?:input )?tokens in/i;

/**
 * Reads the failure that an answer of this status reports: `error` is its text, or its object in the form of OpenAI,
 * Anthropic or Google. A failure with a status of success gets one that fits its kind.
 */
export function readFailure(error: unknown, status: number): ProviderFailure {
  const given = jsonObject(error);
  const said = jsonText(typeof error === "string" ? error : given["message"]);
  const message = said === "" ? fallback(status) : said;
  const stated = status >= 400 ? status : numericCode(given["code"]);
  const kind = kindOf(given, message, stated);
  const retryAfter = retryDelayOf(given["details"]);
  return {
    kind,
    message,
    status: stated ?? ownStatus[kind],
    ...(retryAfter === null ? {} : { retryAfter }),
  };
}

function fallback(status: number): string {
  return status === 0 ? "The provider failed" : `The provider answered ${status}`;
}

/** OpenRouter and Google give an HTTP status as the code. */
function numericCode(code: unknown): number | null {
  return typeof code === "number" && code >= 400 && code < 600 ? code : null;
}

function kindOf(given: Json, message: string, status: number | null): FailureKind {
  const byStatus = status === null ? undefined : statuses[status];
  // The code says more than the type, and a type that is true of many failures less than the words.
  const named = [given["code"], given["type"], given["status"]]
    .map((word) => words.get(jsonText(word).toLowerCase()))
    .find((kind) => kind !== undefined);
  const first = named ?? byStatus ?? plainKind(status);
  const isVague = first === "invalid" || first === "too_large" || first === "failed";
  return isVague && status !== 429 && TOO_LONG.test(message) ? "context_too_long" : first;
}

function plainKind(status: number | null): FailureKind {
  return status !== null && status < 500 ? "invalid" : "failed";
}

/** Google says how long to wait in the details of its error, `{"retryDelay": "34s"}`. */
function retryDelayOf(details: unknown): number | null {
  const delays = jsonObjects(details).map(({ retryDelay }) => jsonText(retryDelay));
  const seconds = delays.map((delay) => /^(\d{1,6}(?:\.\d+)?)s$/.exec(delay)?.[1]);
  const found = seconds.find((one) => one !== undefined);
  return found === undefined ? null : Math.ceil(Number(found));
}
