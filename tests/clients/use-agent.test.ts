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
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Served } from "../../adapters/shared/http/drain.ts";
import { type BrowserPage, startBrowser, type TestBrowser } from "../http/browser-page.ts";
import { lendBrowser } from "../platform/shared-browser.ts";
import type { Platform } from "../../core/ports.ts";

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

let browser: TestBrowser;
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

beforeAll(async () => {
  const stateDir = join(folder, "browser");
  await lendBrowser(stateDir);
  const [started] = await Promise.all([startBrowser(stateDir), startServer(0), startPages()]);
  browser = started;
});
afterAll(async () => {
  await browser.close();
  await server.close();
  pages.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(name: string, token = TOKEN): Promise<BrowserPage> {
  const query = new URLSearchParams({ name, token, host: new URL(server.url).host });
  return browser.open(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/?${query}`);
}

const text = "document.querySelector('output')?.textContent";

// What is tested is the client; AgentClient meets the servers of all four runtimes in agents.test.ts.
describe("useAgent of agents/react in a browser", () => {
  it("identifies, renders the state, calls, streams, and gets errors", async () => {
    const page = await open("first");
    await page.until("globalThis.agent?.identified");
    expect(await page.evaluate("[agent.name, agent.agent]")).toEqual(["first", "tally-agent"]);
    await page.until(`${text} === "0"`);
    expect(await page.evaluate("agent.call('add', [2])")).toBe(2);
    await page.until(`${text} === "2"`);
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

  it("shows a state that another page has changed", async () => {
    const [one, two] = [await open("shared"), await open("shared")];
    for (const page of [one, two]) await page.until("globalThis.agent?.identified");
    await one.evaluate("agent.call('add', [5])");
    await two.until(`${text} === "5"`);
    expect(await two.evaluate("seen.states")).toContain("server 5");
  });

  it("comes back after a restart of the server, with the state that was stored", async () => {
    const page = await open("restart");
    await page.until("globalThis.agent?.identified");
    expect(await page.evaluate("agent.call('add', [7])")).toBe(7);
    const { port } = server;
    await server.close();
    await page.until("seen.closed.length > 0");
    await startServer(port);
    await page.until("seen.opened === 2 && agent.identified");
    expect(await page.evaluate("agent.call('add', [1])")).toBe(8);
    await page.until(`${text} === "8"`);
  });

  it("stops at the close code 4001 and does not try again", async () => {
    const page = await open("refused", "not-the-token-0123456789-0123456789");
    await page.until("globalThis.seen?.closed.length > 0");
    expect(await page.evaluate("seen.closed")).toEqual([4001]);
    // Its first retry would come at once, the next within 4 s.
    await new Promise((resolve) => setTimeout(resolve, 4500));
    expect(upgrades.get("refused")).toBe(1);
    expect(await page.evaluate("seen.closed.length")).toBe(1);
  });
});
