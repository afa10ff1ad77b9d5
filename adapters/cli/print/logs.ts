import process from "node:process";
import type { RequestRow } from "../../../core/signals/request-row.ts";
import { commandFailure, readOptions } from "../command-options.ts";
import { reach, serverOf, folderToken } from "../console-link.ts";

const help = `Usage: causey logs [-f] [options]

Prints the last requests that a running server answered, oldest first; with -f also those that come.

  -f, --follow       Goes on until it is interrupted, also over a restart of the server
  --url URL          The server [http://127.0.0.1:8787]
  --data-dir DIR     Its data folder, where the token is; CAUSEY_TOKEN outranks it [.causey]
  --json             JSON, one object a line
`;

/** How long a server that has gone is waited for before it is asked again, in ms. */
const AGAIN_MS = 1000;
/** Ids of rows that were printed, so that none is printed twice after a restart. */
const REMEMBERED = 2000;
/** What proves that no other site's page asks (docs/console.md). */
const OWN = { "x-causey-console": "1" };

/** Runs `causey logs`. */
export async function logsCommand(args: readonly string[]): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals } = readOptions(args, {
    follow: { type: "boolean", short: "f" },
    url: text,
    "data-dir": text,
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) return void process.stdout.write(help);
  if (positionals.length > 0)
    throw new TypeError(`causey logs takes options only, got "${positionals[0]}"`);
  const { url, folder } = serverOf(values);
  const printed = new Set<string>();
  const print = (row: RequestRow): void => {
    if (printed.has(row.id)) return;
    printed.add(row.id);
    for (const id of printed) if (printed.size > REMEMBERED) printed.delete(id);
    process.stdout.write(`${values.json === true ? JSON.stringify(row) : line(row)}\n`);
  };
  const once = (): Promise<void> => rows(url, folderToken(folder), values.follow === true, print);
  await once();
  while (values.follow === true) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    await once().catch(() => undefined);
  }
}

/** Gives the rows of a server, until it ends or, unless they are to be followed, those that there are. */
async function rows(
  url: string,
  token: string,
  follow: boolean,
  print: (row: RequestRow) => void,
): Promise<void> {
  const cookie = await logIn(url, token);
  // Not `reach`: that has a deadline, which a stream has not.
  const response = await fetch(`${url}/console/events`, { headers: { ...OWN, cookie } });
  try {
    for await (const { event, data } of eventsOf(response)) {
      if (event !== "requests") continue;
      // The server's own rows.
      const some = JSON.parse(data) as RequestRow[];
      for (const row of some) print(row);
      if (!follow) return;
    }
  } catch (error) {
    if (!follow) throw error;
  } finally {
    await response.body?.cancel().catch(() => undefined);
    await fetch(`${url}/console/session`, { method: "DELETE", headers: { ...OWN, cookie } }).catch(
      () => undefined,
    );
  }
}

/** The cookie of a session that may read only. */
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

interface ReceivedEvent {
  readonly event: string;
  readonly data: string;
}

/** Reads server-sent events as this server writes them. */
async function* eventsOf(response: Response): AsyncGenerator<ReceivedEvent> {
  if (!response.ok || response.body === null)
    throw new Error(`The server answered ${response.status}`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = /^event: ?(.*)$/mu.exec(block)?.[1] ?? "message";
      const data = [...block.matchAll(/^data: ?(.*)$/gmu)]
        .map((match) => match[1] ?? "")
        .join("\n");
      yield { event, data };
    }
  }
}

function line(row: RequestRow): string {
  const { time, status, ms, method, route, caller, error, reason } = row;
  const head = `${new Date(time).toISOString()}  ${status}  ${`${ms.toFixed(0)} ms`.padStart(8)}  ${method.padEnd(6)} ${route}`;
  return [head, caller, error, reason].filter((part) => part !== undefined).join("  ");
}
