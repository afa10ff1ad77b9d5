// The rooms that a request passes, in order: `npm run trace -- chat` (or `rendering`, `webhook`). With `--functions` each
// function that it enters, with `--json` the rooms and files as JSON. The tables of docs/life-of-a-request.md come from it.
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer, Server } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { lendBrowser } from "../tests/platform/shared-browser.ts";
import { instrument } from "./trace/instrument.ts";
import { requests, SECRET, TOKEN } from "./trace/requests.ts";

const root = `${dirname(dirname(fileURLToPath(import.meta.url)))}/`;
const [name = "", ...flags] = process.argv.slice(2);
const makeRequest = requests[name];
if (makeRequest === undefined) {
  console.error(`error: no request "${name}": expected one of ${Object.keys(requests).join(", ")}`);
  process.exit(2);
}

/** Everything that runs because of a request shares its list. */
const requestScope = new AsyncLocalStorage<string[]>();
instrument(root, (file, called) => requestScope.getStore()?.push(`${file}#${called}`));

const { nodePlatform, serve } = await import("../adapters/node/mod.ts");
const { defineAgent, platformApi } = await import("../core/mod.ts");

const upstream = createServer((incoming, outgoing) => {
  incoming.resume().on("end", () => {
    const message = { role: "assistant", content: "Hello" };
    outgoing.setHeader("content-type", "application/json");
    outgoing.end(
      JSON.stringify({
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "gpt-4o",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
      }),
    );
  });
}).listen(0, "127.0.0.1");
await once(upstream, "listening");
const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;

const dataDir = mkdtempSync(join(tmpdir(), "causey-trace-"));
await lendBrowser(dataDir);
const platform = await nodePlatform({ dataDir, log: () => undefined });
let handled = (): void => undefined;
const star = defineAgent({
  name: "star-agent",
  onEvent: () => {
    handled();
  },
});
const app = platformApi({
  platform,
  tokens: [{ token: TOKEN, permissions: ["*"], accounts: ["*"] }],
  gateway: { gateways: { default: {} }, providers: { openai: { baseUrl: upstreamUrl } } },
  agents: [star],
  webhooks: { sources: { github: { scheme: "github", secret: SECRET, agent: "star-agent" } } },
});
const served = await serve(app, { port: 0, platform, graceMs: 0 });

let entered: string[] = [];
const emit: (event: string, ...args: unknown[]) => boolean = Server.prototype.emit;
Server.prototype.emit = function traced(event: string, ...args: unknown[]): boolean {
  const isOurs = event === "request" && this !== upstream;
  return isOurs
    ? requestScope.run(entered, () => emit.call(this, event, ...args))
    : emit.call(this, event, ...args);
};

/** Sends the request, and waits for its answer and what must follow it. */
async function send(round: number): Promise<void> {
  const { path, headers, body } = makeRequest!(round);
  const done = name === "webhook" ? new Promise<void>((resolve) => (handled = resolve)) : undefined;
  const response = await fetch(served.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  await done;
}

/** Resolves when the request runs no more code, for some turns of the event loop. What is written a second later is left out. */
async function untilQuiet(): Promise<void> {
  let length = -1;
  for (let turns = 0; turns < 20; turns = entered.length === length ? turns + 1 : 0) {
    length = entered.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

try {
  // The first one opens the browser, the tables and the connection to the provider.
  for (const round of [1, 2, 3]) {
    // The page of the round before is closed by then: until it is, no next one is opened ahead.
    if (name === "rendering" && round > 1)
      await new Promise((resolve) => setTimeout(resolve, 2000));
    entered = [];
    await send(round);
    await untilQuiet();
  }
  console.log(flags.includes("--json") ? JSON.stringify(rooms(entered)) : listed(entered));
} finally {
  await served.close();
  upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
}

/** The folders in the order in which they are entered first, with their files likewise. */
function rooms(functions: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const file of new Set(functions.map((one) => one.split("#")[0]!)))
    (found[dirname(file)] ??= []).push(basename(file));
  return found;
}

function listed(functions: readonly string[]): string {
  if (flags.includes("--functions")) return functions.join("\n");
  const lines = Object.entries(rooms(functions)).map(
    ([room, files]) => `${room}: ${files.join(" ")}`,
  );
  return `${lines.join("\n")}\n${functions.length} calls`;
}
