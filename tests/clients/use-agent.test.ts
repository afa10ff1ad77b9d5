import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { defineAgent } from "../../core/agents/mod.ts";
import { platformApi } from "../../core/api.ts";
import { nodePlatform, serve } from "../../adapters/node/mod.ts";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { chromium, type Chromium } from "../../adapters/shared/chromium/chromium.ts";
import type { Served } from "../../adapters/shared/http/drain.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { lendBrowser } from "../platform/shared-browser.ts";
import type { Platform, Wire } from "../../core/ports.ts";

const TOKEN = "a token for the page 0123456789".replaceAll(" ", "-");
const folder = mkdtempSync(join(tmpdir(), "causey-use-agent-"));

const tally = defineAgent<{ count: number }>({
  name: "TallyAgent",
  initialState: { count: 0 },
  clientState: true,
  callable: {
    async add(agent, by: number) {
      await agent.setState({ count: agent.state.count + by });
      return agent.state.count;
    },
    fail() {
      throw new Error("as asked");
    },
    countTo: {
      streaming: true,
      run(_agent, stream, to: number) {
        for (let at = 1; at < to; at++) stream.send(at);
        stream.end(to);
      },
    },
  },
});

let browser: Chromium;
let wire: Wire;
let pages: Server;
let platform: Platform;
let server: Served;
/** Upgrade requests per agent name. */
const upgrades = new Map<string, number>();

async function startServer(port: number): Promise<void> {
  platform = await nodePlatform({ dataDir: join(folder, "data"), log: () => undefined });
  const app = platformApi({
    platform,
    agents: [tally],
    tokens: [{ token: TOKEN, permissions: ["*"], accounts: ["*"] }],
  });
  const counting = {
    fetch(request: Request, env?: unknown) {
      const name = new URL(request.url).pathname.split("/")[3] ?? "";
      if (request.headers.has("upgrade")) upgrades.set(name, (upgrades.get(name) ?? 0) + 1);
      return app.fetch(request, env);
    },
  };
  server = await serve(counting, { port, handleSignals: false, graceMs: 2000, platform });
}

async function startPages(): Promise<void> {
  const bundled = await build({
    entryPoints: [fileURLToPath(new URL("use-agent-page.js", import.meta.url))],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "silent",
  });
  const script = bundled.outputFiles[0]?.text ?? "";
  pages = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isScript ? script : '<div id="root"></div><script src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
}

// The hook runs in the browser and the server on Node: one target is enough.
const isNode = inject("target") === "node";

beforeAll(async () => {
  if (!isNode) return;
  const log = (): void => undefined;
  const stateDir = join(folder, "browser");
  await lendBrowser(stateDir);
  browser = chromium({ stateDir, log, system: localSystem(log), allowHosts: ["127.0.0.1"] });
  await Promise.all([startServer(0), startPages()]);
  wire = await browser.connect();
});
afterAll(async () => {
  if (!isNode) return;
  wire.close();
  await browser.close();
  await server.close();
  pages.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One page of the browser. */
interface Page {
  /** The value of an expression; a promise is awaited. */
  evaluate<T>(expression: string): Promise<T>;
}

let lastId = 0;
const replies = new Map<number, (reply: Record<string, unknown>) => void>();
let isListening = false;

function send(
  method: string,
  params: object,
  sessionId?: string,
): Promise<Record<string, unknown>> {
  if (!isListening) {
    isListening = true;
    wire.onMessage((text) => {
      const reply = JSON.parse(text) as { id?: number; error?: object; result?: object };
      if (reply.id !== undefined)
        replies.get(reply.id)?.({ ...reply.result, failure: reply.error });
    });
  }
  lastId += 1;
  const id = lastId;
  const reply = new Promise<Record<string, unknown>>((resolve) => replies.set(id, resolve));
  wire.send(
    JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }),
  );
  return reply;
}

async function open(name: string, token = TOKEN): Promise<Page> {
  const query = new URLSearchParams({ name, token, host: new URL(server.url).host });
  const url = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/?${query}`;
  const { browserContextId } = await send("Target.createBrowserContext", {});
  const { targetId } = await send("Target.createTarget", { url, browserContextId });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  return {
    async evaluate<T>(expression: string) {
      const params = { expression, awaitPromise: true, returnByValue: true };
      const reply = await send("Runtime.evaluate", params, String(sessionId));
      const { exceptionDetails, failure, result } = reply as {
        exceptionDetails?: object;
        failure?: object;
        result?: { value?: T };
      };
      const problem = failure ?? exceptionDetails;
      if (problem !== undefined) throw new Error(JSON.stringify(problem));
      return result?.value as T;
    },
  };
}

async function until(page: Page, condition: string): Promise<void> {
  while (!(await page.evaluate<boolean>(`Boolean(${condition})`)))
    await new Promise((resolve) => setTimeout(resolve, 20));
}

const text = "document.querySelector('output')?.textContent";

// What is tested is the client; AgentClient meets the servers of all four runtimes in agents.test.ts.
const once = itUnless(isNode ? undefined : "the page is driven once, against Node");

describe("useAgent of agents/react in a browser", () => {
  once("identifies, renders the state, calls, streams, and gets errors", async () => {
    const page = await open("first");
    await until(page, "globalThis.agent?.identified");
    expect(await page.evaluate("[agent.name, agent.agent]")).toEqual(["first", "tally-agent"]);
    await until(page, `${text} === "0"`);
    expect(await page.evaluate("agent.call('add', [2])")).toBe(2);
    await until(page, `${text} === "2"`);
    const chunks = await page.evaluate(`new Promise((resolve, reject) => {
      const chunks = [];
      agent.call("countTo", [4], {
        onChunk: (chunk) => chunks.push(chunk),
        onDone: (last) => resolve([...chunks, last]),
        onError: reject,
      }).catch(reject);
    })`);
    expect(chunks).toEqual([1, 2, 3, 4]);
    const message = "agent.call('fail').then(() => 'no error', (error) => error.message)";
    expect(await page.evaluate(message)).toBe("as asked");
  });

  once("shows a state that another page has changed", async () => {
    const [one, two] = [await open("shared"), await open("shared")];
    for (const page of [one, two]) await until(page, "globalThis.agent?.identified");
    await one.evaluate("agent.call('add', [5])");
    await until(two, `${text} === "5"`);
    expect(await two.evaluate("seen.states")).toContain("server 5");
  });

  once("comes back after a restart of the server, with the state that was stored", async () => {
    const page = await open("restart");
    await until(page, "globalThis.agent?.identified");
    expect(await page.evaluate("agent.call('add', [7])")).toBe(7);
    const { port } = server;
    await server.close();
    await until(page, "seen.closed.length > 0");
    await startServer(port);
    await until(page, "seen.opened === 2 && agent.identified");
    expect(await page.evaluate("agent.call('add', [1])")).toBe(8);
    await until(page, `${text} === "8"`);
  });

  once("stops at the close code 4001 and does not try again", async () => {
    const page = await open("refused", "not-the-token-0123456789-0123456789");
    await until(page, "globalThis.seen?.closed.length > 0");
    expect(await page.evaluate("seen.closed")).toEqual([4001]);
    // Its first retry would come at once, the next within 4 s.
    await new Promise((resolve) => setTimeout(resolve, 4500));
    expect(upgrades.get("refused")).toBe(1);
    expect(await page.evaluate("seen.closed.length")).toBe(1);
  });
});
