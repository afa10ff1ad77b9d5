import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { checkServerUrl, commandFailure, readOptions } from "./command-options.ts";
import { defaults, isServiceLink } from "./settings.ts";

/** The server to ask, and the credentials for it. */
export interface LinkTarget {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly url: string;
  readonly token: string;
}

/** Makes an address that logs in to the web console, once and within an hour; null where the console is off. */
export async function consoleLink({ fetch, url, token }: LinkTarget): Promise<string | null> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(new Request(`${url}/console/links`, { method: "POST", headers }));
  if (!response.ok) {
    await response.body?.cancel();
    if (response.status === 404) return null;
    throw new Error(`The server at ${url} refused to make a link: ${response.status}`);
  }
  const answer: unknown = await response.json();
  const path = typeof answer === "object" && answer !== null && "path" in answer ? answer.path : "";
  return `${url}${String(path)}`;
}

const help = `Usage: causey console [--url URL] [--data-dir DIR] [--json]

Prints an address that logs in to the web console of a running server, once and within an hour.

  --url URL        The server [http://127.0.0.1:${defaults.port}]
  --data-dir DIR   Its data folder, where the token is; CAUSEY_TOKEN outranks it [${defaults.dataDir}]
  --json           JSON, one object
`;

/** Runs `causey console`. */
export async function consoleCommand(args: readonly string[]): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals } = readOptions(args, {
    url: text,
    "data-dir": text,
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) {
    process.stdout.write(help);
    return;
  }
  if (positionals.length > 0)
    throw new TypeError(`causey console takes options only, got "${positionals[0]}"`);
  const { url, folder } = serverOf(values);
  const link = await consoleLink({ fetch: reach, url, token: folderToken(folder) });
  if (link === null)
    throw commandFailure(`The server at ${url} has no console`, "Start it without --no-console");
  process.stdout.write(`${values.json === true ? JSON.stringify({ url: link }) : link}\n`);
}

/** Returns the server and the data folder that a command line names. */
export function serverOf(values: { readonly url?: string; readonly "data-dir"?: string }): {
  readonly url: string;
  readonly folder: string;
} {
  const { env } = process;
  checkServerUrl(values.url);
  const given = env["CAUSEY_PORT"];
  const port = given === undefined || isServiceLink(given) ? String(defaults.port) : given;
  const url = (values.url ?? `http://127.0.0.1:${port}`).replace(/\/+$/, "");
  return { url, folder: values["data-dir"] ?? env["CAUSEY_DATA_DIR"] ?? defaults.dataDir };
}

/** Asks a server; throws with a hint when it does not answer. */
export async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(10_000) });
  } catch {
    const { origin } = new URL(request.url);
    throw commandFailure(`No server answers at ${origin}`, "Start one, or name it with --url");
  }
}

/** Returns the API token of a server's folder, unless the environment gives one. */
export function folderToken(folder: string): string {
  const given = process.env["CAUSEY_TOKEN"];
  if (given !== undefined && given !== "") return given;
  const file = join(folder, "token");
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  throw commandFailure(
    `There is no token in "${folder}"`,
    "Name the data folder with --data-dir, or set CAUSEY_TOKEN",
  );
}

/** The header that proves that the request does not come from another site's page (docs/console.md). */
const OWN = { "x-causey-console": "1" };

/** Reads what the console's page reads: in a session that may read only, and that ends with `run`. */
export async function asConsole<T>(
  url: string,
  token: string,
  run: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const headers = { ...OWN, cookie: await logIn(url, token) };
  try {
    return await run(headers);
  } finally {
    const end = new Request(`${url}/console/session`, { method: "DELETE", headers });
    await reach(end).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  }
}

/** Returns the cookie of a session that may read only. */
async function logIn(url: string, token: string): Promise<string> {
  const response = await reach(
    new Request(`${url}/console/session`, {
      method: "POST",
      headers: { ...OWN, "content-type": "application/json" },
      body: JSON.stringify({ token, readOnly: true }),
    }),
  );
  await response.body?.cancel();
  if (response.status === 404)
    throw commandFailure(`The server at ${url} has no console`, "Start it without --no-console");
  if (response.status === 401)
    throw commandFailure(
      `The server at ${url} does not know this token`,
      "Name its folder with --data-dir, or set CAUSEY_TOKEN",
    );
  if (!response.ok) throw new Error(`The server at ${url} answered ${response.status}`);
  return response.headers
    .getSetCookie()
    .map((one) => one.split(";", 1)[0])
    .join("; ");
}
