// One of several servers over one data directory, or one database: RUNTIME DATA_DIR [DATABASE LEASE_MS]. Prints `listening URL`, and `run ENTITY ID ATTEMPT`
// when the handler of a webhook starts.
import { Hono } from "hono";
import { platformApi } from "../../core/api.ts";
import { defineAgent } from "../../core/agents/mod.ts";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { type SchemaStep, stepSql } from "../../core/sql/schema-step.ts";
import type { FetchApp, Served, ServeOptions } from "../../adapters/shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { printNow } from "./print-now.ts";

interface Adapter {
  serve(app: FetchApp, options: ServeOptions): Promise<Served>;
  [open: string]: unknown;
}

const [runtime = "node", dataDir = "", database, leaseMs] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Adapter;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const opened = await open({
  dataDir,
  ...(database === undefined ? {} : { database, cluster: { leaseMs: Number(leaseMs) } }),
  chromiumPath: "/nowhere",
  synchronous: "NORMAL",
});
const platform = process.env["CAUSEY_TEST_NEXT"] === undefined ? opened : ofNextVersion(opened);
const secret = "a secret for sharing tests";

const tell = printNow;

/** A platform whose kinds have one additive step more, which adds a column to each of their tables in PostgreSQL. */
function ofNextVersion(current: Platform): Platform {
  const { actors } = current;
  const later = (steps: readonly SchemaStep[]): readonly SchemaStep[] => {
    const made = steps.flatMap((step) => [
      ...stepSql(step).matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gu),
    ]);
    const columns = made.map(
      ([, table]) => `ALTER TABLE IF EXISTS ${table} ADD COLUMN IF NOT EXISTS of_next TEXT`,
    );
    return [...steps, { additive: columns.join(";\n") }];
  };
  /** A kind is defined wherever it is used: it stays one kind. */
  const kinds = new Map<ActorKind, ActorKind>();
  const laterKind = ({ schema, shared, ...kind }: ActorKind): ActorKind => ({
    ...kind,
    schema: later(schema),
    ...(shared === undefined ? {} : { shared: { ...shared, steps: later(shared.steps) } }),
  });
  return {
    ...current,
    actors: {
      ...actors,
      define(kind) {
        const next = kinds.get(kind) ?? laterKind(kind);
        kinds.set(kind, next);
        actors.define(next);
      },
    },
  };
}

const worker = defineAgent({
  name: "crash-worker",
  schema: [
    "CREATE TABLE IF NOT EXISTS crash_done (actor TEXT NOT NULL, id TEXT NOT NULL, attempt INTEGER)",
  ],
  async onEvent(agent, event, run) {
    tell(`run ${agent.name} ${event.id} ${run.attempt}`);
    await agent.sql`INSERT INTO crash_done (actor, id, attempt) VALUES (${agent.key}, ${event.id}, ${run.attempt})`;
  },
  retry: { maxAttempts: 1000, baseMs: 1, maxMs: 10 },
});

/** What happened at the requests of this process' instances. */
const counts = { aborted: 0, cancelled: 0, chunks: 0, waits: 0 };
const CHUNK = new Uint8Array(64 * 1024);

/** As much as is asked for. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      pull(controller) {
        counts.chunks += 1;
        controller.enqueue(CHUNK);
      },
      cancel() {
        counts.cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );
}

async function lengthOf(body: ReadableStream<Uint8Array> | null): Promise<number> {
  let length = 0;
  for await (const chunk of body ?? []) length += chunk.byteLength;
  return length;
}

const answers: Record<string, (request: Request) => Response | Promise<Response>> = {
  counts: () => Response.json(counts),
  endless: () => new Response(endless()),
  // Of the process in which the instance lives.
  pid: () => Response.json(process.pid),
  // A body that nobody may ask for, as that of a HEAD request.
  text: () => new Response("some text"),
  upload: async (request) => Response.json(await lengthOf(request.body)),
  unusable: () => Response.error(),
  wait: (request) =>
    new Promise((resolve) => {
      counts.waits += 1;
      const left = (): void => {
        counts.aborted += 1;
        resolve(new Response(null));
      };
      if (request.signal.aborted) left();
      else request.signal.addEventListener("abort", left);
    }),
  whole: () => new Response(new Uint8Array(8 * 1024 * 1024)),
};

const box = defineAgent<{ n: number }>({
  name: "box",
  initialState: { n: 0 },
  clientState: true,
  callable: {
    async add(agent) {
      await agent.setState({ n: agent.state.n + 1 });
      return agent.state.n;
    },
    count: {
      streaming: true,
      async run(_agent, stream, to: number) {
        for (let n = 1; n < to; n++) stream.send(n);
        stream.end(to);
      },
    },
  },
  onMessage(_agent, connection, message) {
    // No runtime takes this code.
    if (message === "close badly") connection.close(99_999, "?");
  },
  tasks: {
    ring(agent) {
      tell(`ring ${agent.name}`);
    },
  },
  async onRequest(agent, request) {
    const path = new URL(request.url).pathname.split("/").at(-1) ?? "";
    if (path === "set") {
      await agent.schedule(1, "ring", null);
      return new Response("set");
    }
    return answers[path]?.(request) ?? new Response("nothing here", { status: 404 });
  },
});

const api = platformApi({
  platform,
  demo: true,
  tokens: [{ token: "a-token-for-tests", permissions: ["*"], accounts: ["*"] }],
  agents: [worker, box],
  webhooks: {
    sources: {
      plain: { scheme: "generic", secret },
      worked: { scheme: "generic", secret, agent: "crash-worker", respond: "queued" },
    },
  },
});
const app = new Hono();
app.get("/collect", (c) => {
  const { Bun, gc } = globalThis as { Bun?: { gc(sync: boolean): void }; gc?: () => void };
  Bun?.gc(true);
  gc?.();
  return c.json(process.memoryUsage().heapUsed);
});
app.route("/", api);

const { url } = await adapter.serve(app, { port: 0, graceMs: 3000 });
tell(`listening ${url}`);
