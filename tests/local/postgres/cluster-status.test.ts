import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { postgresClock } from "../../../adapters/postgres/postgres-clock.ts";
import { clusterStatus } from "../../../adapters/postgres/slots/cluster-status.ts";
import { slotOf } from "../../../adapters/postgres/slot-of.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { causeyAll } from "../command/run-command.ts";
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
  await postgresClock(db.sqlOf(""), { monotonic: () => performance.now(), now: () => Date.now() });
});
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});
afterAll(async () => {
  if (lacks === undefined) await db.close();
});

describe("causey cluster status", () => {
  it("lists the servers of a database", LONG, async () => {
    const node = await openNode(db);
    node.join();
    await eventually(() => node.ownSlots().length === 1024, "it has all slots");
    await asAdmin(
      url,
      `DELETE FROM causey_alarms;
      INSERT INTO causey_alarms (kind, actor, at, attempts, version, slot)
        SELECT 'k', 'late', steady - 3600000, 0, 7, 5 FROM causey_clock
        UNION SELECT 'k', 'later', steady + 3600000, 0, 7, 6 FROM causey_clock;
      INSERT INTO causey_schema (kind, steps) VALUES ('notes', 3);
      INSERT INTO causey_node_steps (node, kind, steps) VALUES ('${node.id}', 'notes', 2)`,
    );
    await eventually(async () => {
      const [row] = await asAdmin(url, "SELECT ahead_ms FROM causey_nodes");
      return row?.["ahead_ms"] !== null;
    }, "it has told of its clock");
    const command = ["cluster", "status", "--database", url];
    const [json, text, none] = await causeyAll([
      [...command, "--json"],
      command,
      ["cluster", "status"],
    ]);
    expect(JSON.parse(json!.out)).toMatchObject({
      id: node.id,
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/u),
      machine: "here",
      version: "1",
      slots: 1024,
      lives: true,
      lagMs: expect.toSatisfy((ms: number) => ms >= 3_600_000 && ms < 7_200_000),
      protocol: 1,
      schema: [{ list: "notes", knows: 2, database: 3 }],
      clockAheadMs: expect.any(Number) as number,
      refusal: null,
    });
    expect(text!.out).toMatch(
      /^ADDRESS .*\n127\.0\.0\.1:\d+ +here +1 +1 +notes 2\/3 +[+-]\d+\.\d s +1024 +\d+\.\d s ago +lives +\d{4}\.\d s\n$/u,
    );
    expect(none!.err).toContain("needs a database");
    await node.close(100);
    await asAdmin(url, "DELETE FROM causey_schema WHERE kind = 'notes'");
  });

  it("says why a server is refused, at its start or by others", LONG, async () => {
    const node = await openNode(db);
    node.refusal.refuse("It is too old");
    expect(await node.refusal.refused).toBe("It is too old");
    await node.close(0);
    await asAdmin(
      url,
      `INSERT INTO causey_nodes (id, address, version, machine, protocol, expires) VALUES
        ('old', 'old:1', '1', 'm', 1, now() + INTERVAL '1 hour'), ('next', 'next:1', '2', 'm', 2, now() + INTERVAL '1 hour'),
        ('new', 'new:1', '3', 'm', 3, now() + INTERVAL '1 hour')`,
    );
    const listed = await clusterStatus(db.sqlOf(""));
    expect(Object.fromEntries(listed.map((one) => [one.address, one.refusal]))).toEqual({
      [node.address]: "It is too old",
      "old:1":
        "Its protocol is 1, that of new:1 is 3, and only neighbours work together: start causey 3 here",
      "next:1": null,
      "new:1": null,
    });
    const [all] = await causeyAll([["cluster", "status", "--database", url]]);
    expect(all!.out).toContain(`${node.address} is refused: It is too old\n`);
    expect(all!.out).toMatch(/^old:1 +m +1 +1 +\? +\? +0 +.* refused/mu);
    expect(all!.out.match(/is refused/gu)).toHaveLength(2);
    await asAdmin(url, "DELETE FROM causey_nodes");
  });
});

describe("two nodes whose clocks differ by eight minutes", () => {
  it("call each other, and each says that its clock is wrong", LONG, async () => {
    const lines: (object | undefined)[] = [];
    const nodes = await Promise.all(
      [240_000, -240_000].map((ahead, n) =>
        openNode(db, {
          clock: () => Date.now() + ahead,
          log: (_, __, fields) => void lines.push(fields),
          host: {
            here: () => ({
              call: () => Promise.resolve(n),
              fetch: () => Promise.resolve(new Response(String(n))),
            }),
          },
        }),
      ),
    );
    for (const node of nodes) node.join();
    await eventually(
      () => nodes.every((node) => node.ownSlots().length === 512),
      "both have their shares",
    );
    const ofSecond = Array.from({ length: 100 }, (_, at) => `actor-${at}`).find((name) =>
      nodes[1]!.ownSlots().includes(slotOf("k", name)),
    );
    const far = nodes[0]!.get("k", ofSecond!);
    expect(await far.call("who")).toBe(1);
    const answer = await far.fetch(new Request("http://local/"));
    expect(await answer.text()).toBe("1");
    expect(lines).toEqual(
      expect.arrayContaining([{ ahead_seconds: 240 }, { ahead_seconds: -240 }]),
    );
    await Promise.all(nodes.map((node) => node.close(100)));
  });
});
