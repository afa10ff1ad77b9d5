import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { postgresStore } from "../../../adapters/postgres/postgres-store.ts";
import { addAlarmSlots } from "../../../adapters/postgres/slot-alarms.ts";
import { clusterSecret } from "../../../adapters/postgres/slots/cluster-secret.ts";
import type { Cluster } from "../../../adapters/postgres/slots/cluster.ts";
import { checkCluster } from "../../../adapters/postgres/slots/cluster-settings.ts";
import { routedActors } from "../../../adapters/postgres/slots/routed-actors.ts";
import { slotOf } from "../../../adapters/postgres/slot-of.ts";
import { localSystem } from "../../../adapters/shared/system.ts";
import { healthOf, healthRoutes } from "../../../core/signals/health.ts";
import type { Log } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { openNode } from "../../fakes/cluster-node.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

const lacks = await lacksPostgres();
const silent = (): undefined => undefined;
let url = "";
let db: PostgresDatabase;

beforeAll(async () => {
  if (lacks !== undefined) return;
  url = await freshDatabase();
  db = await openPostgres({ url, log: silent });
});
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});
afterAll(async () => {
  if (lacks === undefined) await db.close();
});

/** A way to the database that can be cut. */
async function cable(): Promise<{ url: string; cut(): void; mend(): Promise<void> }> {
  const to = new URL(url);
  const open = new Set<Socket>();
  const server: Server = createServer((from) => {
    const on = connect(Number(to.port), to.hostname);
    for (const one of [from, on]) {
      open.add(one);
      one.on("error", silent).on("close", () => {
        from.destroy();
        on.destroy();
      });
    }
    from.pipe(on).pipe(from);
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String(port);
  return {
    url: through.href,
    cut() {
      server.close();
      for (const one of open) one.destroy();
      open.clear();
    },
    mend: () => listen(port),
  };
}

describe("/readyz of a server whose database goes away", () => {
  it("is 503 with the reason, and ready again by itself", async () => {
    const way = await cable();
    const platform = await openPlatform({ database: way.url });
    const part = () => ({ status: "ready" as const });
    const app = healthRoutes(
      platform,
      healthOf(platform, { rendering: { part }, search: { part } }),
    );
    const ready = async (): Promise<{ status: number; reason: unknown }> => {
      const response = await app.request("/readyz");
      const { reason } = (await response.json()) as { reason?: unknown };
      return { status: response.status, reason };
    };
    expect(await ready()).toEqual({ status: 200, reason: undefined });
    way.cut();
    await eventually(() => platform.actors.failure?.() !== null, "the failure is known");
    expect(await ready()).toEqual({
      status: 503,
      reason: expect.stringMatching(/^The database cannot be used: no connection/u),
    });
    await way.mend();
    await eventually(async () => (await ready()).status === 200, "the server is ready again");
    await platform.close();
    way.cut();
  });
});

describe("the log of a server with a database", () => {
  it("names the server in each line", async () => {
    const lines: (object | undefined)[] = [];
    const log: Log = (_, __, fields) => void lines.push(fields);
    const platform = await openPlatform({ database: url, log });
    platform.log("info", "Line", { status: 200 });
    expect(lines.at(-1)).toEqual({ status: 200, node: platform.actors.nodes?.own });
    expect(platform.actors.nodes?.own).toMatch(/^127\.0\.0\.1:\d+$/u);
    await platform.close();
  });
});

describe("the alarms of a node", () => {
  const insert = (actor: string) =>
    asAdmin(
      url,
      `INSERT INTO causey_alarms (kind, actor, at, attempts, version) VALUES ('k', '${actor}', 1, 0, 7)`,
    );

  it("are those of its slots; older rows get theirs", async () => {
    await insert("a");
    await insert("b");
    await db.session(addAlarmSlots);
    const slots = await asAdmin(url, "SELECT actor, slot FROM causey_alarms ORDER BY actor");
    expect(slots).toEqual([
      { actor: "a", slot: slotOf("k", "a") },
      { actor: "b", slot: slotOf("k", "b") },
    ]);
    const system = localSystem(silent);
    const [now] = await asAdmin(url, "SELECT epoch::int FROM causey_slots WHERE slot = 0");
    const holds = { slot: 0, epoch: Number(now?.["epoch"]) };
    const lost = { slot: 0, epoch: -1 };
    const store = await postgresStore({
      db,
      system,
      log: silent,
      fenceOf: (_, name) => (name === "a" ? holds : lost),
      ownSlots: () => [slotOf("k", "b")],
    });
    const rows = await store.alarms.earliest("k", 10);
    expect(rows.map(({ actor }) => actor)).toEqual(["b"]);
    // Claimed under the fence: by now another node may have the slot.
    const [row] = rows;
    await expect(store.alarms.isDue(store.sqlOf("k", "b"), row!)).rejects.toMatchObject({
      reason: "fenced",
    });
    const own = { ...row!, actor: "a" };
    expect(await store.alarms.isDue(store.sqlOf("k", "a"), own)).toBe(true);
    expect(await store.alarms.isDue(store.sqlOf("k", "a"), { ...own, version: 8 })).toBe(false);
    system.end();
  });
});

describe("a server that starts", () => {
  it("does not wait for the writes of others when its tables are there", async () => {
    await db.session(async (session) => {
      await session.exec(
        "LOCK TABLE causey_alarms, causey_nodes, causey_schema IN ROW EXCLUSIVE MODE",
      );
      const second = await openPostgres({ url, log: silent });
      await second.close();
    });
  });

  it("makes what is lacking", async () => {
    const lacking = await freshDatabase();
    await (await openPostgres({ url: lacking, log: silent })).close();
    await asAdmin(
      lacking,
      "DROP INDEX causey_alarms_of_kind; DROP TABLE causey_news; ALTER TABLE causey_nodes DROP COLUMN machine",
    );
    await (await openPostgres({ url: lacking, log: silent })).close();
    const facts = await asAdmin(
      lacking,
      `SELECT to_regclass('causey_alarms_of_kind')::text AS index, to_regclass('causey_news')::text AS news,
        (SELECT COUNT(*)::int FROM pg_attribute WHERE attrelid = 'causey_nodes'::regclass AND attname = 'machine') AS machine`,
    );
    expect(facts).toEqual([{ index: "causey_alarms_of_kind", news: "causey_news", machine: 1 }]);
  });
});

describe("a node", () => {
  it("makes the secret of the cluster once", async () => {
    const [a, b] = await Promise.all([1, 2].map(() => clusterSecret(db.sqlOf(""))));
    expect(a).toMatch(/^[\da-f]{64}$/u);
    expect(b).toBe(a);
  });

  it("says what to set when another machine cannot reach it", async () => {
    const lines: string[] = [];
    const open = (machine: string): Promise<Cluster> =>
      openNode(db, { machine, log: (_, line) => void lines.push(line), leaseMs: 2000 });
    const nodes = await Promise.all(["one", "one", "two"].map(open));
    for (const node of nodes.slice(0, 2)) node.join();
    await eventually(
      () => nodes.slice(0, 2).every((node) => node.ownSlots().length === 512),
      "both have their shares",
    );
    expect(lines).toEqual([]);
    nodes[2]!.join();
    await eventually(() => lines.length === 3, "each says so, once");
    expect(new Set(lines).size).toBe(1);
    expect(lines[0]).toContain("--cluster-listen");
    await Promise.all(nodes.map((node) => node.close(100)));
  });

  it("refuses calls at once that have no owner while the database is away", async () => {
    const { get } = routedActors({
      leases: () => undefined,
      failure: () => "no connection",
      nodes: { to: () => null },
      here: () => {
        throw new Error("Nothing is here");
      },
      detached: silent,
    });
    const call = get("k", "a").call("m");
    const waits = new Promise((resolve) => void setTimeout(resolve, 5000, "waits"));
    const refused = call.catch((error: unknown) => error);
    expect(await Promise.race([refused, waits])).toMatchObject({ status: 503 });
  });

  it.each(["10.0.0.5:8788", "[::1]:8788", "localhost:0"])("listens at %s", (listen) => {
    const { host, port } = checkCluster({ listen }).listen;
    expect(listen.replaceAll(/[[\]]/gu, "")).toBe(`${host}:${port}`);
  });

  it.each(["8788", "10.0.0.5", "::1:8788", "a:70000", "http://a:1"])("refuses %s", (listen) => {
    expect(() => checkCluster({ listen })).toThrow("write host and port");
  });

  it.each(["0.0.0.0:8788", "[::]:8788", "[::0]:0"])("asks for an address beside %s", (listen) => {
    expect(() => checkCluster({ listen })).toThrow("--cluster-advertise");
    expect(checkCluster({ listen, advertise: "10.0.0.5" }).advertise).toBe("10.0.0.5");
  });

  it("refuses secrets that are too short, and leases out of bounds", () => {
    for (const secret of ["", "fifteen letters"])
      expect(() => checkCluster({ secret })).toThrow("16 characters at least");
    for (const leaseMs of [0, 999, 600_001, Number.NaN])
      expect(() => checkCluster({ leaseMs })).toThrow("write 1000 to 600000");
    expect(checkCluster({ secret: "sixteen letters.", leaseMs: 1000 }).leaseMs).toBe(1000);
  });
});
