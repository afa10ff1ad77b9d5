import process from "node:process";
import { retryAfterMs } from "../../../core/http/fields/retry-after.ts";
import { commandFailure } from "../context/command-options.ts";
import { folderToken, serverOf } from "../context/console-link.ts";
import { defaults } from "../context/settings.ts";

/** Options that every command has which asks a running server. */
export const serverOptions = {
  url: { type: "string" },
  "data-dir": { type: "string" },
  "account-id": { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** Their part of a help text. */
export const serverHelp: string = `  --url URL          The server [http://127.0.0.1:${defaults.port}]
  --data-dir DIR     Its data folder, where the token is; CAUSEY_TOKEN outranks it [${defaults.dataDir}]
  --account-id ID    The account [CAUSEY_ACCOUNT_ID, else ${defaults.accountId}]
  --json             JSON, one object a line
`;

/** Flags that name a server on a command line. */
export interface ServerValues {
  readonly url?: string;
  readonly "data-dir"?: string;
  readonly "account-id"?: string;
}

/** A request to the API. */
export interface ApiQuestion {
  /** @default "GET" */
  readonly method?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly form?: FormData;
  /** Milliseconds until the whole answer must be there. @default 30000 */
  readonly deadline?: number;
}

/** An answer's `result`, and what the server says beside it. */
export interface ApiAnswer<T> {
  readonly result: T;
  readonly resultInfo: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** A running server, as the API of one account. */
export interface ApiClient {
  /** The server's address, without a slash at the end. */
  readonly url: string;
  readonly token: string;
  /** The answer itself; throws what the server says against it. `path` begins behind the account, e.g. `/ai-gateway/gateways`. */
  send(path: string, question?: ApiQuestion): Promise<Response>;
  /** The answer's JSON. */
  ask<T>(path: string, question?: ApiQuestion): Promise<ApiAnswer<T>>;
  /** The rows of a list that has pages. `most` bounds them. @default 100,000 */
  all<T>(path: string, most?: number): Promise<T[]>;
}

/** Says no: with the status that the server gave. */
export class ServerRefusal extends Error {
  readonly status: number;
  /** Milliseconds to wait before the next attempt, where the server says so. */
  readonly waitMs: number | null;
  /** The number of the error (docs/errors.md), where the answer has one. */
  readonly code: number | null;

  constructor(
    message: string,
    status: number,
    { waitMs, code }: Pick<ServerRefusal, "waitMs" | "code">,
  ) {
    super(message);
    this.status = status;
    this.waitMs = waitMs;
    this.code = code;
  }
}

/** Milliseconds that an answer may take. */
const ANSWER_MS = 30_000;
const PAGE = 50;
/** Rows of a list that are read at most. */
const ROWS = 100_000;

/** Makes a client for the server that a command line names. Throws when no token for it is known. */
export function apiClient(values: ServerValues): ApiClient {
  const { url, folder } = serverOf(values);
  const account = values["account-id"] ?? (process.env["CAUSEY_ACCOUNT_ID"] || defaults.accountId);
  const token = folderToken(folder);
  const base = `${url}/client/v4/accounts/${encodeURIComponent(account)}`;
  const send = (path: string, question: ApiQuestion = {}): Promise<Response> =>
    answerOf(new Request(`${base}${path}`, requestOf(question, token)), question.deadline);
  const ask = async <T>(path: string, question: ApiQuestion = {}): Promise<ApiAnswer<T>> => {
    const response = await send(path, question);
    // `as`: the server's own envelope; `data` is what the listings of dynamic routes have in its place.
    const body = (await response.json().catch(() => ({}))) as {
      result?: T;
      data?: T;
      result_info?: Record<string, unknown>;
      messages?: readonly { message?: string }[];
    };
    const result = body.result ?? body.data;
    if (result === undefined && !("result" in body)) throw notCausey(url);
    return {
      // `as`: null is what some results are.
      result: result as T,
      resultInfo: body.result_info ?? {},
      notes: (body.messages ?? []).flatMap(({ message }) => message ?? []),
    };
  };
  const all = async <T>(path: string, most = ROWS): Promise<T[]> => {
    const rows: T[] = [];
    const mark = path.includes("?") ? "&" : "?";
    const perPage = Math.min(most, PAGE);
    for (let page = 1; rows.length < most; page++) {
      const { result } = await ask<T[]>(`${path}${mark}page=${page}&per_page=${perPage}`);
      rows.push(...result);
      if (result.length < perPage) break;
    }
    return rows.slice(0, most);
  };
  return { url, token, send, ask, all };
}

function requestOf({ method = "GET", json, form }: ApiQuestion, token: string): RequestInit {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  if (json !== undefined) headers.set("content-type", "application/json");
  const body = json === undefined ? form : JSON.stringify(json);
  return { method, headers, redirect: "manual", ...(body === undefined ? {} : { body }) };
}

async function answerOf(request: Request, deadline = ANSWER_MS): Promise<Response> {
  const { origin } = new URL(request.url);
  const response = await fetch(request, { signal: AbortSignal.timeout(deadline) }).catch(
    (error: unknown) => {
      if (error instanceof Error && error.name === "TimeoutError")
        throw new Error(`${origin} gave no answer within ${deadline / 1000} s`);
      throw commandFailure(`No server answers at ${origin}`, "Start one, or name it with --url");
    },
  );
  if (response.ok) return response;
  const { message: said, code } = refusalOf(await response.text());
  if (response.status === 401)
    throw commandFailure(
      `The server at ${origin} does not take this token: ${said}`,
      "Name its folder with --data-dir, or set CAUSEY_TOKEN",
    );
  throw new ServerRefusal(`The server answered ${response.status}: ${said}`, response.status, {
    waitMs: retryAfterMs(response.headers.get("retry-after"), Date.now()),
    code,
  });
}

function refusalOf(text: string): { readonly message: string; readonly code: number | null } {
  try {
    // `as`: the envelope of a refusal.
    const { errors } = JSON.parse(text) as {
      errors?: readonly { message?: string; code?: number }[];
    };
    const { message, code = null } = errors?.[0] ?? {};
    if (message !== undefined) return { message, code };
  } catch {
    // Not ours.
  }
  return { message: "this is not the API of causey", code: null };
}

function notCausey(url: string): Error {
  return commandFailure(`What answers at ${url} is not causey`, "Name the server with --url");
}

/** Prints what a server says beside its answer: of fields that it does not know, for example. */
export function printNotes(notes: readonly string[]): void {
  for (const note of notes) process.stderr.write(`note: ${note}\n`);
}

/** Reads `--set NAME=VALUE …`: a value is JSON where it can be read as such, else text. */
export function settingsOf(given: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    given.map((one) => {
      const at = one.indexOf("=");
      if (at < 1) throw new TypeError(`--set: expected NAME=VALUE, got "${one}"`);
      return [one.slice(0, at), valueOf(one.slice(at + 1))];
    }),
  );
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Reads `--limit`: how many rows are printed at most. */
export function limitOf(text: string | undefined): number {
  if (text === undefined) return 20;
  const limit = /^\d{1,4}$/u.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 1000) throw new TypeError(`--limit: expected 1 to 1000, got "${text}"`);
  return limit;
}
