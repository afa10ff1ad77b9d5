import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { targetName } from "../http/target.ts";

// The official client of the Model Context Protocol, in both forms of its handshake, against the served runtime.

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

/** A client of the revisions with a handshake, which are the default, or of the newest. */
async function connected(mode: "legacy" | { pin: string }): Promise<Client> {
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(endpoint, { requestInit: { headers } }));
  return client;
}

const isWorker = targetName() === "workers";
const served = itUnless(
  isWorker ? "a Worker imports it itself, and the suite's does not" : undefined,
);
const revisions = [
  ["that shakes hands", "legacy"],
  ["of the newest revision", { pin: "2026-07-28" }],
] as const;

for (const [which, mode] of revisions)
  served(`an instance's MCP endpoint answers a client ${which}`, async () => {
    const client = await connected(mode);
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

const absent = itUnless(isWorker ? undefined : "there it is served");

absent("an instance's MCP endpoint is a 503 where the Worker does not import it", async () => {
  const response = await fetch(endpoint, { method: "POST", headers, body: "{}" });
  expect(response.status).toBe(503);
  await response.text();
});
