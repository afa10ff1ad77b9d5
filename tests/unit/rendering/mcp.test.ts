import { describe, expect, it } from "vitest";
import { serveMcp } from "../../../core/rendering/mcp/mod.ts";
import type { RenderingSettings } from "../../../core/rendering/mod.ts";
import { eventually } from "../../cases/eventually.ts";
import { crawlUnderTest, type PlayedSite } from "../../fakes/rendering-crawl.ts";

const root = "https://example.com";
const site: PlayedSite = {
  [`${root}/`]:
    '<title>Start</title><h1>Hi</h1><nav>menu</nav><a href="/a">a</a><a href="https://x.example/">x</a>',
  [`${root}/a`]: "<title>A</title><p>About",
  [`${root}/long`]: `<p>${"word ".repeat(50_000)}`,
};
const PATH = "http://test/accounts/a/browser-rendering/mcp";

interface ToolMessage {
  readonly result: {
    readonly tools: readonly { readonly name: string; readonly inputSchema: object }[];
    readonly content: readonly { readonly type: string; readonly text: string }[];
    readonly structuredContent: Readonly<Record<string, unknown>>;
    readonly isError?: boolean;
  };
  readonly error?: { readonly code: number };
}

async function underTest(options: Partial<RenderingSettings> = {}) {
  const { app } = await crawlUnderTest(site, { mcp: serveMcp, ...options });
  const send = (message: object, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(
      app.request(PATH, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
      }),
    );
  /** The one message of an answer, as JSON or as an event. */
  const ask = async (method: string, params: object = {}): Promise<ToolMessage> => {
    const text = await (await send({ method, params })).text();
    const json = text.startsWith("{") ? text : (/^data: (\{.*\})$/mu.exec(text)?.[1] ?? "null");
    return JSON.parse(json) as ToolMessage;
  };
  const call = async (name: string, given: object): Promise<ToolMessage["result"]> =>
    (await ask("tools/call", { name, arguments: given })).result;
  return { send, ask, call };
}

describe("the MCP endpoint of rendering", () => {
  it("has its tools, that of data where there is a model", async () => {
    const names = async (options: Partial<RenderingSettings>): Promise<string[]> => {
      const { result } = await (await underTest(options)).ask("tools/list");
      return result.tools.map(({ name }) => name);
    };
    const all = ["markdown", "links", "screenshot", "pdf", "crawl", "crawl_result"];
    expect(await names({})).toEqual(all);
    const chatModel = () => Promise.resolve(new Response());
    expect(await names({ chatModel })).toEqual(["markdown", "links", "json", ...all.slice(2)]);
  });

  it("reads a page, its links and its data", async () => {
    const chatModel = () =>
      Promise.resolve(Response.json({ choices: [{ message: { content: '{"name":"Hi"}' } }] }));
    const { call } = await underTest({ chatModel });
    const page = { url: `${root}/`, browser: "never" };
    const { content } = await call("markdown", page);
    expect(content).toMatchObject([{ type: "text", text: expect.stringContaining("# Hi") }]);
    const { structuredContent: found } = await call("links", { ...page, exclude_external: true });
    expect(found).toEqual({ links: [`${root}/a`] });
    const data = await call("json", { ...page, prompt: "The name" });
    expect(data.structuredContent).toEqual({ result: { name: "Hi" } });
    expect((await call("markdown", { html: "<b>x</b>" })).content[0]?.text).toBe("**x**");
  });

  it("cuts off a long text, and says so", async () => {
    const { call } = await underTest();
    const { content } = await call("markdown", { url: `${root}/long`, browser: "never" });
    expect(content.map(({ text }) => text.length)).toEqual([200_000, expect.any(Number)]);
    expect(content[1]?.text).toMatch(/^Cut off after 200000 of \d+ characters\.$/u);
  });

  it("begins a crawl, and returns the pages that it has read", async () => {
    const { call } = await underTest();
    const { structuredContent: begun } = await call("crawl", { url: `${root}/`, limit: 2 });
    const { id } = begun;
    let read: Readonly<Record<string, unknown>> = {};
    await eventually(async () => {
      read = (await call("crawl_result", { id })).structuredContent;
      return read["status"] !== "running";
    }, "the crawl ends");
    expect(read).toEqual({
      status: "completed",
      total: 2,
      finished: 2,
      pages: [
        {
          url: `${root}/`,
          status: "read",
          title: "Start",
          markdown: expect.stringContaining("# Hi"),
        },
        {
          url: `${root}/a`,
          status: "read",
          title: "A",
          markdown: expect.stringContaining("About"),
        },
      ],
    });
    const none = await call("crawl_result", { id: "00000000-0000-4000-8000-000000000000" });
    expect(none).toMatchObject({
      isError: true,
      content: [{ text: 'There is no crawl job "00000000-0000-4000-8000-000000000000"' }],
    });
  });

  it("returns what a tool refuses as the tool's result", async () => {
    const { call, ask } = await underTest();
    for (const [name, given, message] of [
      ["markdown", {}, "url"],
      ["markdown", { url: "http://127.0.0.1/", browser: "never" }, "not a public"],
      ["crawl", { url: "http://169.254.169.254/" }, "not a public"],
      ["crawl", { url: root, include_patterns: ["blog"] }, "matches no address"],
    ] as const) {
      const { isError, content } = await call(name, given);
      expect([name, isError, content[0]?.text]).toEqual([
        name,
        true,
        expect.stringContaining(message),
      ]);
    }
    for (const given of [{ urls: root }, { url: root, browser: "maybe" }, { url: 7 }]) {
      const { result, error } = await ask("tools/call", { name: "markdown", arguments: given });
      expect(error?.code === -32602 || result.isError).toBe(true);
    }
  });

  it("refuses a page of another site, and no page of its own", async () => {
    const { send } = await underTest({ publicUrl: "https://pages.example" });
    const list = { method: "tools/list" };
    expect((await send(list, { origin: "https://evil.example" })).status).toBe(403);
    expect((await send(list, { origin: "https://pages.example" })).status).toBe(200);
  });

  it("asks for the permission of rendering, and says what is missing without the option", async () => {
    const { app } = await crawlUnderTest(site, {
      mcp: serveMcp,
      auth: Object.assign(() => Promise.resolve(null)),
    });
    expect((await app.request(PATH, { method: "POST", body: "{}" })).status).toBe(401);
    const plain = (await crawlUnderTest(site)).app;
    const answer = await plain.request(PATH, { method: "POST", body: "{}" });
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining("give rendering() the option mcp"),
    ]);
  });
});
