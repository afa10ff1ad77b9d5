// A server of the runtime it runs in, for the tests of serve(): RUNTIME [PORT].
import { Hono } from "hono";
import type { ActorKind, Platform } from "../../core/ports.ts";
import type { FetchApp, Served, ServeOptions } from "../../adapters/shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";

interface Adapter {
  serve(app: FetchApp, options: ServeOptions): Promise<Served>;
  [open: string]: unknown;
}

const [runtime = "node", port = "0"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Adapter;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir: ":memory:" });

const room: ActorKind = {
  name: "room",
  schema: [],
  start: ({ sockets }) => ({ methods: {}, fetch: async (request) => sockets.accept(request) }),
};
platform.actors.define(room);

const encoder = new TextEncoder();
const events = { "content-type": "text/event-stream" };
const app = new Hono();
app.get("/", (c) => c.json({ ok: true }));
app.get("/ws", (c) => platform.actors.get("room", "one").fetch(c.req.raw));
/** Requests that the app got and does not answer yet. */
let waiting = 0;
app.get("/waiting", (c) => c.json(waiting));
app.get("/slow", async (c) => {
  waiting += 1;
  await platform.system.sleep(400);
  return c.text("slow but whole");
});
app.get("/events", () => {
  let n = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(encoder.encode(`data: ${n}\n\n`));
      n += 1;
      if (n === 10) controller.close();
      await platform.system.sleep(50);
    },
  });
  return new Response(body, { headers: events });
});
app.get("/broken", () => {
  let n = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      n += 1;
      if (n === 1) controller.enqueue(encoder.encode("data: 1\n\n"));
      else controller.error(new Error("The secret cause"));
      await platform.system.sleep(20);
    },
  });
  return new Response(body, { headers: events });
});
let gone = 0;
app.get("/wait", (c) => {
  waiting += 1;
  return new Promise<Response>((resolve) => {
    c.req.raw.signal.addEventListener("abort", () => {
      gone += 1;
      resolve(c.text("nobody reads this"));
    });
  });
});
app.get("/endless", () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode("data: 1\n\n"));
    },
    cancel() {
      gone += 1;
    },
  });
  return new Response(body, { headers: events });
});
app.get("/gone", (c) => c.json(gone));
app.get("/cookies", () => {
  const headers = new Headers([
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ]);
  return new Response("two", { headers });
});
// Responses of the runtime itself, as a proxy hands them on; the header is node-server's own signal.
app.get("/native", () => fetch("data:text/plain,native"));
app.get("/spoofed", async () => {
  const { body } = await fetch("data:text/plain,spoofed");
  await body?.cancel();
  return new Response(null, { headers: { "x-hono-already-sent": "true" } });
});
app.post("/length", async (c) => c.json((await c.req.raw.arrayBuffer()).byteLength));
app.post("/echo", (c) => new Response(c.req.raw.body));

try {
  const { url } = await adapter.serve(app, { port: Number(port), graceMs: 600_000 });
  console.log(`listening ${url}`);
} catch (error) {
  console.log(`failed ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
