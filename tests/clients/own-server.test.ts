import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { itUnless } from "../config/it-unless.ts";
import { eventually } from "../cases/eventually.ts";
import { waitForChildren } from "../platform/children-work.ts";
import {
  type Child,
  exitOf,
  lineWith,
  type LocalRuntimeName,
  missing,
  start,
} from "../local/runtimes.ts";

waitForChildren();

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
  ["deno", "default"],
  ["deno", "kept"],
];

async function withServer(
  runtime: LocalRuntimeName,
  kind: string,
  use: (origin: string, child: Child) => Promise<void>,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const child = start(runtime, "../clients/own-server-child.ts", [runtime, kind], {
    ...process.env,
    ...env,
  });
  try {
    const line = await lineWith(child, "listening ");
    await use(`127.0.0.1:${line.trim().split(" ").at(-1) ?? ""}`, child);
  } finally {
    child.kill("SIGKILL");
    await exitOf(child);
  }
}

/** A model server whose one answer ends when the test says so. */
async function slowModel(): Promise<{ url: string; finish: () => void; close: () => void }> {
  const answers: ServerResponse[] = [];
  const part = (text: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write(part("first"));
    answers.push(outgoing);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    finish: () => {
      for (const answer of answers) answer.end(`${part("last")}data: [DONE]\n\n`);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function untilRefused(origin: string): Promise<void> {
  const isRefused = (): Promise<boolean> =>
    fetch(`http://${origin}/healthz`, { headers: { connection: "close" } }).then(
      async (answer) => {
        await answer.body?.cancel();
        return false;
      },
      () => true,
    );
  await eventually(isRefused, "no new connection is accepted");
}

describe("a server of the host's own", () => {
  for (const [runtime, kind] of servers) {
    itUnless(missing(runtime) || undefined)(
      `of ${runtime} (${kind}) ends by closeServer() with its answers whole`,
      async () => {
        const model = await slowModel();
        const end = async (origin: string, child: Child): Promise<void> => {
          const base = `${origin}${prefixes.get(kind) ?? ""}`;
          const socket = new WebSocket(`ws://${base}/agents/webhook-agent/x`);
          await once(socket, "message");
          const closed = once(socket, "close");
          const events = await fetch(`http://${base}/agents/webhook-agent/x/events`);
          const streamed = await fetch(`http://${base}/v1/local/default/openai/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json", authorization: "Bearer sk-any" },
            body: '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello"}]}',
          });
          // Unlike `child.kill()` on Deno, which then reports the signal as how the child ended.
          process.kill(child.pid ?? 0, "SIGTERM");
          await untilRefused(origin);
          await events.text();
          model.finish();
          expect(await streamed.text()).toContain("last");
          const [code] = (await closed) as [number];
          expect(code).toBe(1001);
          expect(await exitOf(child)).toBe(0);
        };
        try {
          await withServer(runtime, kind, end, { UPSTREAM_URL: model.url });
        } finally {
          model.close();
        }
      },
      60_000,
    );
  }

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
      .replaceAll('listen(0, "127.0.0.1"', "listen(8787")
      .replaceAll("port: 0, host", "port: 8787, host");
    const blocks = [...(page.split("\n## ")[0] ?? "").matchAll(/^```ts\n([\s\S]*?)^```/gmu)];
    expect(blocks).toHaveLength(5);
    const missingLines = blocks
      .flatMap(([, block = ""]) => block.split("\n"))
      .filter((line) => !child.includes(line.trim()));
    expect(missingLines).toEqual([]);
  });
});
