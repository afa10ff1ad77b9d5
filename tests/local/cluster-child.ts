// A node of a cluster with actors that count: RUNTIME URL LEASE_MS AHEAD_MS (of its clock). Takes orders over HTTP; prints `listening PORT ID`.
import { createServer } from "node:http";
import process from "node:process";
import { openPostgres } from "../../adapters/postgres/open-postgres.ts";
import { openCluster, type Cluster } from "../../adapters/postgres/slots/cluster.ts";
import type { ActorRef, Sql } from "../../core/ports.ts";

const [, url = "", leaseMs = "10000", aheadMs = "0"] = process.argv.slice(2);
const { now } = Date;
Date.now = () => now() + Number(aheadMs);
const log = (level: string, message: string, fields?: object): void => {
  console.error(level, message, JSON.stringify(fields ?? {}));
};
const db = await openPostgres({ url, log });

/** An actor: its count is in memory, and each step of it is a row. */
interface Counter {
  readonly name: string;
  readonly sql: Sql;
  turn: Promise<unknown>;
  running: number;
  count: number | undefined;
}
const counters = new Map<string, Counter>();

async function add(counter: Counter, id: string): Promise<{ node: string; n: number }> {
  const { name, sql } = counter;
  if (counter.count === undefined) {
    const [row] = await sql.all("SELECT MAX(n) AS n FROM t_counts WHERE actor = ?", [name]);
    counter.count = Number(row?.["n"] ?? 0);
  }
  const n = counter.count + 1;
  await sql.batch([
    { sql: "INSERT INTO t_counts (actor, n, node) VALUES (?, ?, ?)", params: [name, n, id] },
  ]);
  counter.count = n;
  return { node: id, n };
}

function here(kind: string, name: string): ActorRef {
  let counter = counters.get(name);
  if (counter === undefined) {
    const sql = db.sqlOf(name, cluster.fenceOf(kind, name));
    counters.set(
      name,
      (counter = { name, sql, turn: Promise.resolve(), running: 0, count: undefined }),
    );
  }
  const own = counter;
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const result = own.turn.catch(() => undefined).then(work);
    own.turn = result;
    own.running += 1;
    return result.finally(() => (own.running -= 1));
  };
  return {
    call: () => inTurn(() => add(own, cluster.id)),
    async fetch(request) {
      const text = await request.text();
      return Response.json({ ...(await inTurn(() => add(own, cluster.id))), text });
    },
  };
}

const cluster: Cluster = await openCluster({
  db,
  host: {
    here,
    holds: (isMeant) =>
      [...counters.values()].some(({ name, running }) => running > 0 && isMeant("counter", name)),
    rescan: () => undefined,
    detached: () => undefined,
    drop(isGone) {
      for (const name of counters.keys()) if (isGone("counter", name)) counters.delete(name);
    },
  },
  listen: { host: "127.0.0.1", port: 0 },
  machine: "one",
  version: "1",
  speaks: "tests",
  secret: "the secret of the tests",
  upgrade: () => null,
  upgrades: new WeakMap(),
  log,
  leaseMs: Number(leaseMs),
});

cluster.join();

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://local");
  const name = searchParams.get("name") ?? "";
  const ask = async (): Promise<string> => {
    const ref = cluster.get("counter", name);
    if (pathname === "/call") return JSON.stringify(await ref.call("add"));
    const upload = new Request("http://local/", { method: "POST", body: name });
    return (await ref.fetch(upload)).text();
  };
  ask().then(
    (text) => response.end(text),
    (error: unknown) => response.writeHead(503).end(String(error)),
  );
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  console.log(`listening ${port} ${cluster.id}`);
});
process.once("SIGTERM", () => {
  void cluster
    .close(5000)
    .then(() => db.close())
    .then(() => process.exit(0));
});
