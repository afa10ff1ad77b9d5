import { BoundedSet } from "../../../core/work/bounded-map.ts";
import { setTimeout as pause } from "node:timers/promises";
import process from "node:process";
import type { RequestRow } from "../../../core/signals/requests/request-row.ts";
import { readOptions } from "../context/command-options.ts";
import { asConsole, folderToken, serverOf } from "../context/console-link.ts";

const help = `Usage: causey logs [-f] [options]

Prints the last requests that a running server answered, oldest first; with -f also new ones as they come.

  -f, --follow       Goes on until Ctrl-C, also after a restart of the server
  --url URL          The server [http://127.0.0.1:8787]
  --data-dir DIR     Its data folder, where the token is; CAUSEY_TOKEN outranks it [.causey]
  --json             JSON, one object a line
`;

/** How long a server that has gone is waited for before it is asked again, in ms. */
const AGAIN_MS = 1000;
/** The number of printed rows whose ids are kept, so that a row is not printed twice after a restart. */
const REMEMBERED = 2000;

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
  const printed = new BoundedSet<string>(REMEMBERED);
  const print = (row: RequestRow): void => {
    if (printed.has(row.id)) return;
    printed.add(row.id);
    process.stdout.write(`${values.json === true ? JSON.stringify(row) : line(row)}\n`);
  };
  const once = (): Promise<void> => rows(url, folderToken(folder), values.follow === true, print);
  await once();
  while (values.follow === true) {
    await pause(AGAIN_MS);
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
  await asConsole(url, token, async (headers) => {
    // Not `reach`: that has a deadline, which a stream has not.
    const response = await fetch(`${url}/console/events`, { headers });
    try {
      let lacks: readonly string[] = [];
      for await (const { event, data } of eventsOf(response)) {
        // The server's own figures and rows.
        if (event === "overview") lacks = lackedIn(data);
        if (event !== "requests") continue;
        const some = JSON.parse(data) as RequestRow[] | null;
        if (some === null) throw new HiddenError(lacks);
        for (const row of some) print(row);
        if (!follow) return;
      }
    } catch (error) {
      if (!follow || error instanceof HiddenError) throw error;
    } finally {
      await response.body?.cancel().catch(() => undefined);
    }
  });
}

/** The token may read no requests, which does not change by asking again. */
class HiddenError extends Error {
  constructor(lacks: readonly string[]) {
    super(
      `The token of the data folder shows no requests: it lacks ${lacks.join(", ")} on the server's account`,
    );
  }
}

/** Returns the permissions that the token lacks. */
function lackedIn(overview: string): readonly string[] {
  const { hidden } = JSON.parse(overview) as { readonly hidden: Readonly<Record<string, string>> };
  return Object.values(hidden);
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
