import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { readFileSync } from "node:fs";
import { expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { root } from "../config/shared.ts";
import { targetName } from "../http/target.ts";

// The official client of the Model Context Protocol, by the configuration that the page shows, against the served runtime.

interface Shown {
  readonly mcpServers: { readonly pages: { readonly url: string; readonly headers: object } };
}

const page = readFileSync(`${root}docs/rendering/mcp.md`, "utf8");
const block = /^```json\n([^]*?)^```$/mu.exec(page)?.[1] ?? "null";
const shown = block
  .replace("http://127.0.0.1:8787", inject("baseUrl"))
  .replace("accounts/local", `accounts/${inject("accountId")}`)
  .replace("Bearer …", `Bearer ${inject("token")}`);
const { url, headers } = (JSON.parse(shown) as Shown).mcpServers.pages;
const requestInit = { headers: Object.fromEntries(Object.entries(headers)) };
const info = { name: "causey-tests", version: "1.0.0" };

const isWorker = targetName() === "workers";
const noServer = isWorker ? "a Worker imports it itself, and the suite's does not" : undefined;
const served = itUnless(noServer);

/** Why no page can be drawn here; undefined where one can. */
const probe = await fetch(url.replace(/mcp$/u, "content"), {
  method: "POST",
  headers: { ...requestInit.headers, "content-type": "application/json" },
  body: '{"html":"<p>x"}',
}).then(async (answer) => (answer.status === 503 ? answer.text() : undefined));

async function connected(mode: "legacy" | { pin: string }): Promise<Client> {
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const html = "<title>T</title><h1>Hello</h1><a href='https://example.com/a'>a</a>";

for (const [which, mode] of [
  ["that shakes hands", "legacy"],
  ["of the newest revision", { pin: "2026-07-28" }],
] as const)
  served(`the MCP endpoint of rendering answers a client ${which}`, async () => {
    const client = await connected(mode);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["markdown", "links", "screenshot", "pdf"]));
    const read = await client.callTool({ name: "markdown", arguments: { html } });
    expect(read.content).toEqual([{ type: "text", text: expect.stringContaining("# Hello") }]);
    const links = await client.callTool({
      name: "links",
      arguments: { html, browser: "never" },
    });
    expect(links.structuredContent).toEqual({ links: ["https://example.com/a"] });
    await client.close();
  });

itUnless(noServer ?? probe)("a picture and a PDF come as the protocol has them", async () => {
  const client = await connected("legacy");
  const { content: pictures } = (await client.callTool({
    name: "screenshot",
    arguments: { html, type: "png", width: 300, height: 200 },
  })) as { content: { type: string; data: string; mimeType: string }[] };
  expect(pictures).toMatchObject([{ type: "image", mimeType: "image/png" }]);
  expect(atob(pictures[0]?.data ?? "").slice(1, 4)).toBe("PNG");
  const { content: files } = (await client.callTool({ name: "pdf", arguments: { html } })) as {
    content: { type: string; resource: { blob: string; mimeType: string } }[];
  };
  expect(files).toMatchObject([{ type: "resource", resource: { mimeType: "application/pdf" } }]);
  expect(atob(files[0]?.resource.blob ?? "").slice(0, 5)).toBe("%PDF-");
  await client.close();
});

itUnless(isWorker ? undefined : "there it is served")(
  "the MCP endpoint of rendering is a 503 where the Worker does not import it",
  async () => {
    const answer = await fetch(url, { method: "POST", headers: requestInit.headers, body: "{}" });
    expect(answer.status).toBe(503);
    await answer.text();
  },
);
