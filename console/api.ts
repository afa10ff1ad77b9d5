import type { SessionFacts } from "../core/console/mod.ts";

/** The path at which the console is served: this script lies in its folder. */
const base = new URL(".", import.meta.url).pathname;
/** The address of the server, below whose paths a host may have put it. */
export const serverUrl: string = new URL("..", import.meta.url).href.replace(/\/$/, "");
/** The header that proves that the console's own page makes a request, see `core/console`. */
const own = { "x-causey-console": "1" };

/** An answer other than success, with the message of the API. */
export class AskError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const text = await response.text();
  throw new AskError(response.status, messageOf(text) ?? `${response.status}`);
}

function messageOf(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as {
      errors?: { message?: string }[];
      error?: { message?: string } | { message?: string }[];
    };
    const error = Array.isArray(body.error) ? body.error[0] : body.error;
    return body.errors?.[0]?.message ?? error?.message;
  } catch {
    return text === "" ? undefined : text.slice(0, 300);
  }
}

/** Reads the session; null without a login. */
export async function readSession(): Promise<SessionFacts | null> {
  const response = await fetch(`${base}session`, { headers: own });
  return (await (await checked(response)).json()) as SessionFacts | null;
}

/** Logs in by a token, or by the code of a link. */
export async function logIn(
  by: { readonly token: string } | { readonly code: string },
  readOnly: boolean,
): Promise<void> {
  const headers = { ...own, "content-type": "application/json" };
  const body = JSON.stringify({ ...by, readOnly });
  await checked(await fetch(`${base}session`, { method: "POST", headers, body }));
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  await fetch(`${base}session`, { method: "DELETE", headers: own });
}

/** The root of the API and the headers of each request: those of the session, unless {@link askAs} set others. */
let api: { readonly url: string; readonly headers: Readonly<Record<string, string>> } = {
  url: `${base}api`,
  headers: own,
};

/** Has all further requests go to another root, with a token of its own in place of the session. */
export function askAs(url: string, authorization: string): void {
  api = { url, headers: { authorization } };
}

/** Asks the API, as the token of the session; rejects with {@link AskError} when it refuses. */
export async function ask(
  path: string,
  init: {
    method?: string;
    headers?: Record<string, string>;
    json?: unknown;
    body?: BodyInit;
    signal?: AbortSignal;
  } = {},
): Promise<Response> {
  const { json, headers = {}, ...rest } = init;
  const sent = json === undefined ? {} : { body: JSON.stringify(json) };
  const type = json === undefined ? {} : { "content-type": "application/json" };
  return checked(
    await fetch(`${api.url}${path}`, {
      ...rest,
      ...sent,
      headers: { ...api.headers, ...type, ...headers },
    }),
  );
}

/** The `result` of an answer of the API. */
export async function askResult<T>(path: string): Promise<T> {
  return ((await (await ask(path)).json()) as { result: T }).result;
}

/** The events of a stream, one by one. */
export async function* eventsOf(
  response: Response,
): AsyncGenerator<{ readonly event: string; readonly data: string }> {
  let rest = "";
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: "" };
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const of = (name: string): string[] =>
        lines
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart());
      const data = of("data").join("\n");
      if (data !== "") yield { event: of("event")[0] ?? "message", data };
    }
  }
}

/** The console's own live stream. */
export async function openFeed(signal: AbortSignal): Promise<Response> {
  return checked(await fetch(`${base}events`, { headers: own, signal }));
}
