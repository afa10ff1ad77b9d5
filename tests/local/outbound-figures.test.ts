import { expect, it } from "vitest";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import type { Sql } from "../../core/ports.ts";
import { readStats } from "../../core/webhooks/outbound/counters.ts";
import { outboundSchema } from "../../core/webhooks/outbound/outbound-schema.ts";

const INSERT = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
  INSERT INTO webhooks_deliveries
    (actor, id, message_id, endpoint_id, status, attempt, due, created_at, seq)
  SELECT 'local', ? || n, 'm', 'e', ?, 0, n, '2026-11-28T00:00:00.000Z', n FROM n`;

it("figures cost a scraper the same, however many deliveries wait or are dead", async () => {
  const db = openSqlite(":memory:");
  for (const step of outboundSchema) db.exec(step);
  const plans: string[] = [];
  const sql: Pick<Sql, "all"> = {
    async all(text, params) {
      const rows = db.rows(`EXPLAIN QUERY PLAN ${text}`, params);
      plans.push(...rows.map(({ detail }) => String(detail)));
      return db.all(text, params);
    },
  };
  const system = localSystem(() => undefined);
  const figures = async (): Promise<unknown[]> => {
    const { dead, oldest_pending_seconds, pending } = await readStats({
      name: "local",
      sql,
      system: { ...system, now: () => Date.parse("2026-11-28T00:01:00Z") },
    });
    return [pending, dead, oldest_pending_seconds];
  };
  expect(await figures()).toEqual([0, 0, null]);
  db.rows(INSERT, [70, "p", "pending"]);
  db.rows(INSERT, [30, "d", "dead"]);
  expect(await figures()).toEqual([70, 30, 60]);
  db.rows(INSERT, [10_001, "q", "pending"]);
  db.rows(INSERT, [10_001, "r", "dead"]);
  expect(await figures()).toEqual([10_000, 10_000, 60]);
  const ofDeliveries = plans.filter((step) => step.includes("webhooks_deliveries"));
  expect(ofDeliveries).not.toEqual([]);
  for (const step of ofDeliveries) expect(step).toContain("USING INDEX webhooks_deliveries_due");
  expect(plans.filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
  await db.close();
});
