import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { serveMcp } from "../../../core/search/mcp/mod.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

const PATH = "/instances/main/mcp";

let api: SearchUnderTest;
beforeEach(async () => {
  api = await searchUnderTest({ mcp: serveMcp, publicUrl: "https://search.example" });
  await api.upload("ferry.md", "# Ferry\n\nThe ferry leaves at noon.", { metadata: {} });
});
afterEach(() => api.close());

/** Sends one message; with the header of a revision as clients do after `initialize`. */
function send(message: unknown, headers: Record<string, string> = {}, path = PATH) {
  return api.raw("POST", path, {
    body: JSON.stringify(message),
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
  });
}

interface Message {
  readonly result: {
    readonly tools: readonly { readonly name: string; readonly annotations: object }[];
    readonly content: readonly { readonly text: string }[];
    readonly structuredContent: { readonly results: readonly { readonly id: string }[] };
    readonly isError?: boolean;
  };
  readonly error?: { readonly code: number };
}

/** The one message of an answer, as JSON or as an event. */
async function messageOf(response: Response): Promise<Message> {
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (\{.*\})$/mu.exec(text)?.[1] ?? "null");
  return JSON.parse(json) as Message;
}

async function call(name: string, given: object): Promise<Message> {
  const params = { name, arguments: given };
  const response = await send({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
  expect(response.status).toBe(200);
  return messageOf(response);
}

describe("the MCP endpoint of an instance", () => {
  it("takes part in the handshake of older clients, without a session", async () => {
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const response = await send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    expect([response.status, response.headers.get("mcp-session-id")]).toEqual([200, null]);
    expect(await messageOf(response)).toMatchObject({
      id: 1,
      result: { protocolVersion: "2025-06-18", serverInfo: { name: "causey: main" } },
    });
    const told = await send({ jsonrpc: "2.0", method: "notifications/initialized" });
    expect([told.status, await told.text()]).toEqual([202, ""]);
  });

  it("takes messages of at most a megabyte: a call asks one question", async () => {
    const arguments_ = { query: "ferry", more: "x".repeat(1024 * 1024) };
    const params = { name: "search", arguments: arguments_ };
    const response = await send({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
    expect(response.status).toBe(413);
  });

  it("has two tools, which only read", async () => {
    const { result } = await messageOf(await send({ jsonrpc: "2.0", id: 2, method: "tools/list" }));
    expect(result.tools.map(({ name, annotations }) => [name, annotations])).toEqual([
      ["search", { readOnlyHint: true, openWorldHint: false }],
      ["fetch", { readOnlyHint: true, openWorldHint: false }],
    ]);
  });

  it("finds passages, and reads the document of one", async () => {
    const { result } = await call("search", { query: "When does the ferry leave?" });
    const [first] = result.structuredContent.results;
    expect(first).toMatchObject({
      title: "ferry.md",
      text: expect.stringContaining("leaves at noon"),
      url: expect.stringMatching(/\/ai-search\/instances\/main\/items\/[^/]+\/download$/u),
    });
    expect(JSON.parse(result.content[0]?.text ?? "")).toEqual(result.structuredContent);
    const read = await call("fetch", { id: first?.id });
    expect(read.result.structuredContent).toMatchObject({
      id: first?.id,
      title: "ferry.md",
      text: "# Ferry\n\nThe ferry leaves at noon.",
    });
  });

  it("filters, orders and groups, and reads operators, where a client asks for it", async () => {
    await api.upload("docs/tram.md", "The tram leaves at noon.");
    const titles = async (given: object): Promise<unknown[]> => {
      const { result } = await call("search", { query: "leaves at noon", ...given });
      return result.structuredContent.results.map((found) => Object.entries(found)[1]?.[1]);
    };
    expect(await titles({ filters: { folder: "docs/" } })).toEqual(["docs/tram.md"]);
    expect(await titles({ sort: ["filename:desc"], distinct: "key" })).toEqual([
      "docs/tram.md",
      "ferry.md",
    ]);
    const query = "leaves -tram";
    expect(await titles({ query, query_operators: true })).toEqual(["ferry.md"]);
    const { result } = await call("search", { query: "noon", sort: ["filenam:asc"] });
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0]?.text).toContain('did you mean "filename"');
  });

  it("returns what a tool refuses as the tool's result", async () => {
    const { result } = await call("fetch", { id: "none" });
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0]?.text).toContain("item_not_found");
    for (const given of [{}, { query: "" }, { query: 7 }, { query: "a", max_num_results: 51 }]) {
      const { result: refused, error } = await call("search", given);
      expect(error?.code === -32602 || refused.isError).toBe(true);
    }
    expect((await call("delete", {})).error).toMatchObject({ code: -32602 });
  });

  it("takes ten messages of one request, and no more", async () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const many = await send(Array.from({ length: 11 }, () => ping));
    expect([many.status, await many.text()]).toEqual([400, expect.stringContaining("at most 10")]);
    const some = await send(Array.from({ length: 10 }, () => ping));
    expect(await some.text()).not.toContain("at most 10");
  });

  it("refuses a page of another site, and no page of its own", async () => {
    const list = { jsonrpc: "2.0", id: 3, method: "tools/list" };
    expect((await send(list, { origin: "https://evil.example" })).status).toBe(403);
    expect((await send(list, { origin: "null" })).status).toBe(403);
    expect((await send(list, { origin: "https://search.example" })).status).toBe(200);
    // A name that its owner points here: page and Host agree, and prove nothing.
    expect((await send(list, { origin: "http://test" })).status).toBe(403);
  });

  it("is there for instances that are there, and for POST", async () => {
    const list = { jsonrpc: "2.0", id: 4, method: "tools/list" };
    expect((await send(list, {}, "/instances/none/mcp")).status).toBe(404);
    const read = await api.raw("GET", PATH);
    expect([read.status, read.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await api.raw("POST", PATH, { body: "{" })).status).toBe(400);
  });
});

it("says what is missing without the option", async () => {
  const plain = await searchUnderTest();
  const response = await plain.raw("POST", PATH, { body: "{}" });
  expect(response.status).toBe(503);
  expect(await response.text()).toContain("give search() the option mcp");
  await plain.close();
});
