import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres } from "../../../adapters/postgres/open-postgres.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import type { ActorKind } from "../../../core/ports.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";
import { exitOf, lineWith, missing, runtimes, start, type Child } from "../runtimes.ts";
import type { LocalRuntimeName } from "../runtimes.ts";

/** Long enough for nodes that get little of a busy machine: one that cannot renew loses its actors. */
const LEASE_MS = 8000;
/** By how much the clock of each node is ahead, in ms. */
const AHEAD: Record<LocalRuntimeName, number> = { node: 0, deno: 240_000, bun: -240_000 };
const NAMES = Array.from({ length: 12 }, (_, n) => `actor-${n}`);

interface Node {
  readonly child: Child;
  readonly id: string;
  readonly url: string;
}
interface Answer {
  readonly node: string;
  readonly n: number;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Nothing but the leases keeps two nodes from writing the same number. */
const counters: ActorKind = {
  name: "counter",
  schema: [
    "CREATE TABLE t_counts (actor TEXT NOT NULL, n INTEGER NOT NULL, node TEXT NOT NULL); CREATE INDEX t_counts_of ON t_counts (actor, n)",
  ],
  start: () => ({ methods: {} }),
};

let url = "";
const lacks = runtimes.map(missing).find((one) => one !== false) ?? (await lacksPostgres());
/** Those that live, one of each runtime. */
const nodes: Node[] = [];
const started: Child[] = [];
beforeAll(async () => {
  if (lacks !== undefined) return;
  url = await freshDatabase();
  const db = await openPostgres({ url, log: () => undefined });
  await migrateTables(db.session, counters);
  await db.close();
});
beforeEach(async ({ skip }) => {
  if (lacks !== undefined) return skip(lacks);
  acknowledged = [];
  for (const runtime of runtimes.slice(nodes.length)) nodes.push(await startNode(runtime));
  await shared(nodes);
});
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
});

async function startNode(runtime: LocalRuntimeName): Promise<Node> {
  const args = [runtime, url, String(LEASE_MS), String(AHEAD[runtime])];
  const child = start(runtime, "cluster-child.ts", args);
  started.push(child);
  const [, port, id = ""] = (await lineWith(child, "listening ")).split(" ");
  return { child, id, url: `http://127.0.0.1:${port}` };
}

async function counts(): Promise<Record<string, number>> {
  const rows = await asAdmin(url, "SELECT owner, COUNT(*) AS n FROM causey_slots GROUP BY owner");
  return Object.fromEntries(rows.map(({ owner, n }) => [String(owner), Number(n)]));
}

/** Resolves once the nodes have their fair shares, and nobody else has any. */
async function shared(wanted: readonly Node[]): Promise<void> {
  await eventually(async () => {
    await wait(100);
    const all = await counts();
    const shares = wanted.map(({ id }) => all[id] ?? 0);
    const sum = shares.reduce((a, b) => a + b, 0);
    return sum === 1024 && Math.max(...shares) - Math.min(...shares) <= 1;
  }, "the nodes have fair shares");
}

async function call(node: Node, name: string, path = "call"): Promise<Answer> {
  const response = await fetch(`${node.url}/${path}?name=${name}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return JSON.parse(text) as Answer;
}

/** Calls all actors at all nodes until stopped; remembers what was acknowledged. */
function load(at: readonly Node[]): { stop(): Promise<{ failures: string[] }> } {
  const state = { isOver: false };
  const failures: string[] = [];
  const one = async (name: string, first: number): Promise<void> => {
    for (let turn = first; !state.isOver; turn++) {
      const node = at[turn % at.length]!;
      await call(node, name).then(
        ({ n }) => acknowledged.push(`${name} ${n}`),
        (error: unknown) => failures.push(String(error)),
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const all = Promise.all(NAMES.map(one));
  return {
    async stop() {
      state.isOver = true;
      await all;
      return { failures };
    },
  };
}
let acknowledged: string[] = [];

/** Everything that was acknowledged is there, and no number twice or left out. */
async function check(): Promise<void> {
  const rows = await asAdmin(url, "SELECT actor, n, node FROM t_counts ORDER BY actor, n");
  const stored = new Set(rows.map(({ actor, n }) => `${String(actor)} ${String(n)}`));
  expect(acknowledged.filter((one) => !stored.has(one))).toEqual([]);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
  const last = new Map<string, number>();
  for (const { actor, n } of rows) {
    expect(Number(n)).toBe((last.get(String(actor)) ?? 0) + 1);
    last.set(String(actor), Number(n));
  }
}

describe(
  "three nodes on one PostgreSQL, one of each runtime, whose clocks differ by minutes",
  LONG,
  () => {
    it("are listed with their clocks", async () => {
      const aheads = (): Promise<(number | null)[]> =>
        Promise.all(
          nodes.map(async ({ id }) => {
            const [row] = await asAdmin(
              url,
              `SELECT ahead_ms FROM causey_nodes WHERE id = '${id}'`,
            );
            return row?.["ahead_ms"] === null
              ? null
              : Math.round(Number(row?.["ahead_ms"]) / 60_000);
          }),
        );
      await eventually(async () => String(await aheads()) === "0,4,-4", "the clocks are told");
    });

    it("share the actors, and each finds all of them", async () => {
      const owners = new Set<string>();
      for (const name of NAMES) {
        const answers: Answer[] = [];
        for (const node of nodes)
          answers.push(await call(node, name), await call(node, name, "fetch"));
        expect(answers.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6]);
        expect(new Set(answers.map(({ node }) => node)).size).toBe(1);
        owners.add(answers[0]!.node);
      }
      expect(owners.size).toBe(3);
    });

    it("go on without a failure when one leaves, and when one joins", async () => {
      const [a, b, c] = nodes as [Node, Node, Node];
      const running = load([a, b]);
      await wait(1000);
      process.kill(c.child.pid!, "SIGTERM");
      expect(await exitOf(c.child)).toBe(0);
      await shared([a, b]);
      nodes[2] = await startNode("bun");
      await shared(nodes);
      await wait(1000);
      const { failures } = await running.stop();
      expect(failures).toEqual([]);
      await check();
    });

    it("let one that stood still write nothing when it goes on", async () => {
      const [a, b, c] = nodes as [Node, Node, Node];
      const running = load([a, b]);
      await wait(500);
      const asked = NAMES.map(async (name) => {
        const { n } = await call(c, name);
        acknowledged.push(`${name} ${n}`);
      });
      process.kill(c.child.pid!, "SIGSTOP");
      await shared([a, b]);
      await wait(2000);
      process.kill(c.child.pid!, "SIGCONT");
      await Promise.allSettled(asked);
      await shared(nodes);
      await running.stop();
      await check();
    });

    it("take over from one that is killed, after its lease", async () => {
      const [a, b, c] = nodes as [Node, Node, Node];
      const running = load([a, b]);
      await wait(1000);
      c.child.kill("SIGKILL");
      await shared([a, b]);
      await wait(1000);
      const { failures } = await running.stop();
      // Those that were under way at the killed one.
      const isUnknown = (one: string): boolean =>
        one.includes("whether this took effect is not known");
      expect(failures.filter((one) => !isUnknown(one))).toEqual([]);
      await check();
    });
  },
);
