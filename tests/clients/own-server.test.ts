import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, type LocalRuntimeName, missing, start } from "../local/runtimes.ts";

/** Where the API is on the servers that have routes of their own. */
const prefixes = new Map([
  ["express", "/platform"],
  ["fastify", "/platform"],
  ["kept", "/platform"],
]);

const servers: readonly (readonly [LocalRuntimeName, string])[] = [
  ["node", "hono"],
  ["node", "plain"],
  ["node", "express"],
  ["node", "fastify"],
  ["node", "kept"],
  ["bun", "default"],
  ["bun", "kept"],
];

async function withServer(
  runtime: LocalRuntimeName,
  kind: string,
  use: (origin: string) => Promise<void>,
): Promise<void> {
  const child = start(runtime, "../clients/own-server-child.ts", [runtime, kind]);
  try {
    const line = await lineWith(child, "listening ");
    await use(`127.0.0.1:${line.trim().split(" ").at(-1) ?? ""}`);
  } finally {
    child.kill("SIGKILL");
    await exitOf(child);
  }
}

describe("a server of the host's own", () => {
  for (const [runtime, kind] of servers) {
    itUnless(missing(runtime) || undefined)(
      `of ${runtime} (${kind}) lets agents accept WebSockets by acceptWebSockets()`,
      async () => {
        await withServer(runtime, kind, async (origin) => {
          const base = `${origin}${prefixes.get(kind) ?? ""}`;
          const socket = new WebSocket(`ws://${base}/agents/webhook-agent/x`);
          const first = await new Promise<string>((resolve, reject) => {
            socket.once("message", (data: Buffer) => resolve(data.toString()));
            socket.once("error", reject);
          });
          expect(JSON.parse(first)).toHaveProperty("type");
          socket.terminate();
          const ready = await fetch(`http://${base}/readyz`);
          expect(ready.status).toBe(200);
          const asked = await fetch(`http://${base}/v1/local/default/echo/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: '{"model":"echo","messages":[{"role":"user","content":"Hello"}]}',
          });
          expect(await asked.json()).toMatchObject({
            choices: [{ message: { content: "Hello" } }],
          });
          if (prefixes.has(kind)) {
            const own = await fetch(`http://${origin}/`);
            expect(await own.text()).toBe("The host's own page");
          }
        });
      },
      60_000,
    );
  }

  for (const [runtime, kind, path, told] of [
    ["node", "without", "", "acceptWebSockets(app)"],
    ["bun", "without", "", "acceptWebSockets(app)"],
    ["node", "mount", "/platform", "app.route('/prefix', api)"],
  ] as const) {
    itUnless(missing(runtime) || undefined)(
      `of ${runtime} (${kind}) says what is missing`,
      async () => {
        await withServer(runtime, kind, async (origin) => {
          const socket = new WebSocket(`ws://${origin}${path}/agents/webhook-agent/x`);
          const text = await new Promise<string>((resolve, reject) => {
            socket.once("unexpected-response", (_request, response) => {
              let body = "";
              response.on("data", (chunk: Buffer) => (body += chunk.toString()));
              response.once("end", () => resolve(body));
            });
            socket.once("error", reject);
          });
          expect(text).toContain(told);
        });
      },
      60_000,
    );
  }

  it("is shown in docs/agents/connecting.md as it is here", () => {
    const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
    const [, page = ""] = read("../../docs/agents/connecting.md").split(
      "## WebSockets on a server",
    );
    const child = read("own-server-child.ts")
      .replaceAll('0, "127.0.0.1"', "8787")
      .replaceAll("port: 0, host", "port: 8787, host");
    const blocks = [...(page.split("\n## ")[0] ?? "").matchAll(/^```ts\n([\s\S]*?)^```/gmu)];
    expect(blocks).toHaveLength(2);
    const missingLines = blocks
      .flatMap(([, block = ""]) => block.split("\n"))
      .filter((line) => !child.includes(line.trim()));
    expect(missingLines).toEqual([]);
  });
});
