import { describe, expect } from "vitest";
import { WebSocket } from "ws";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, type LocalRuntimeName, missing, start } from "./runtimes.ts";

const servers: readonly (readonly [LocalRuntimeName, string])[] = [
  ["node", "hono"],
  ["node", "plain"],
  ["bun", "default"],
];

async function withServer(
  runtime: LocalRuntimeName,
  kind: string,
  use: (origin: string) => Promise<void>,
): Promise<void> {
  const child = start(runtime, "own-server-child.ts", [runtime, kind]);
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
          const socket = new WebSocket(`ws://${origin}/agents/webhook-agent/x`);
          const first = await new Promise<string>((resolve, reject) => {
            socket.once("message", (data: Buffer) => resolve(data.toString()));
            socket.once("error", reject);
          });
          expect(JSON.parse(first)).toHaveProperty("type");
          socket.terminate();
          const ready = await fetch(`http://${origin}/readyz`);
          expect(ready.status).toBe(200);
        });
      },
      60_000,
    );
  }

  for (const runtime of ["node", "bun"] as const) {
    itUnless(missing(runtime) || undefined)(
      `of ${runtime} without it says what is missing`,
      async () => {
        await withServer(runtime, "without", async (origin) => {
          const socket = new WebSocket(`ws://${origin}/agents/webhook-agent/x`);
          const text = await new Promise<string>((resolve, reject) => {
            socket.once("unexpected-response", (_request, response) => {
              let body = "";
              response.on("data", (chunk: Buffer) => (body += chunk.toString()));
              response.once("end", () => resolve(body));
            });
            socket.once("error", reject);
          });
          expect(text).toContain("acceptWebSockets(app)");
        });
      },
      60_000,
    );
  }
});
