import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { targetName } from "../http/target.ts";

// The official clients of the Model Context Protocol, of both generations, against the served runtime.

const root = `${inject("baseUrl")}/client/v4/accounts/${inject("accountId")}/ai-search/instances`;
const headers = { authorization: `Bearer ${inject("token")}` };
const id = `mcp-${Date.now().toString(36)}`;
const endpoint = new URL(`${root}/${id}/mcp`);
const info = { name: "causey-tests", version: "1.0.0" };

beforeAll(async () => {
  const json = { ...headers, "content-type": "application/json" };
  const made = await fetch(root, { method: "POST", headers: json, body: JSON.stringify({ id }) });
  expect(made.status).toBe(200);
  const form = new FormData();
  form.set("file", new File(["# Ferry\n\nThe ferry leaves at noon."], "ferry.md"));
  form.set("wait_for_completion", "true");
  const put = await fetch(`${root}/${id}/items`, { method: "POST", headers, body: form });
  expect(put.status).toBe(200);
});
afterAll(async () => {
  await fetch(`${root}/${id}`, { method: "DELETE", headers });
});

/** What the tools return, whichever client asks. */
interface Asked {
  callTool(params: { name: string; arguments: object }): Promise<object>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  close(): Promise<void>;
}

const clients = {
  "@modelcontextprotocol/client": async (): Promise<Asked> => {
    const client = new Client(info);
    await client.connect(new StreamableHTTPClientTransport(endpoint, { requestInit: { headers } }));
    return client as Asked;
  },
  "@modelcontextprotocol/sdk": async (): Promise<Asked> => {
    const client = new OlderClient(info);
    await client.connect(new OlderTransport(endpoint, { requestInit: { headers } }));
    return client as Asked;
  },
};

describe.skipIf(targetName() === "workers")("an instance's MCP endpoint", () => {
  it.each(Object.entries(clients))("answers %s", async (_name, connect) => {
    const client = await connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["search", "fetch"]);
    const found = (await client.callTool({
      name: "search",
      arguments: { query: "When does the ferry leave?" },
    })) as { structuredContent: { results: { id: string; text: string }[] } };
    const [first] = found.structuredContent.results;
    expect(first?.text).toContain("leaves at noon");
    const read = await client.callTool({ name: "fetch", arguments: { id: first?.id } });
    expect(read).toMatchObject({ structuredContent: { title: "ferry.md" } });
    await client.close();
  });
});

it.runIf(targetName() === "workers")("is the Worker's own choice", async () => {
  const response = await fetch(endpoint, { method: "POST", headers, body: "{}" });
  expect(response.status).toBe(503);
  await response.text();
});
