import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Hono } from "hono";
import { afterEach, describe, expect, inject, it } from "vitest";
import { openPlatform } from "#platform";
import { localActors } from "../../adapters/shared/actors/local-actors.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { sqliteStore } from "../../adapters/shared/sqlite/sqlite-store.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { agents } from "../../core/agents/mod.ts";
import type { EventRecord } from "../../core/entity/event.ts";
import type { Platform } from "../../core/ports.ts";
import { webhooks, type WebhooksOptions } from "../../core/webhooks/mod.ts";
import { SECRET, signedRequest } from "../fakes/webhooks-sender.ts";

const folder = mkdtempSync(join(inject("scratch"), "intake-"));
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Inbox {
  readonly db: SqliteDatabase;
  readonly path: string;
  readonly platform: Platform;
  /** The wall clock of the inbox: what it reads is the real time plus this, in ms. */
  readonly clock: { ahead: number };
  send(id: string, text?: string): Promise<Response>;
  events(): Promise<EventRecord[]>;
}

/** An inbox whose database and clock are in the test's hands; `busyMs` is how long it waits for the database. */
async function openInbox(
  name: string,
  retention: WebhooksOptions["retention"] = { maxAgeDays: null },
  { ahead = 0, busyMs = 150 }: { ahead?: number; busyMs?: number } = {},
): Promise<Inbox> {
  const path = join(folder, `${name}.db`);
  const db = openSqlite(path, { busyMs });
  const base = await openPlatform();
  const clock = { ahead };
  const system = { ...base.system, now: () => base.system.now() + clock.ahead };
  const log = (): void => undefined;
  const actors = localActors({
    store: sqliteStore({ db, system, log }),
    system,
    log,
    upgrade: () => null,
    rescanMs: 50,
  });
  const platform = { ...base, actors, system, log };
  closing.push(async () => {
    await actors.close(100);
    await db.close();
    await base.close();
  });
  const app = new Hono();
  const sources = { in: { scheme: "generic", secret: SECRET } };
  app.route("/webhooks", webhooks({ platform, auth: "off", sources, retention }));
  app.route("/agents", agents({ platform, auth: "off", agents: [] }));
  return {
    db,
    path,
    platform,
    clock,
    send: async (id, text = "") =>
      app.fetch(await signedRequest("/webhooks/in/one", { text }, { "x-webhook-id": id })),
    events: async () =>
      (await platform.actors
        .get("agent:webhook-agent", "one")
        .call("getEvents", 1000)) as EventRecord[],
  };
}

const statusesOf = async (...responses: Promise<Response>[]): Promise<number[]> =>
  (await Promise.all(responses)).map(({ status }) => status);

describe("an inbox whose disk is full", () => {
  it("answers 503 with Retry-After, stores nothing, and goes on when there is room again", async () => {
    const { db, events, send } = await openInbox("full");
    expect(await statusesOf(send("e1"))).toEqual([200]);
    const pages = Number(db.rows("PRAGMA page_count")[0]?.["page_count"]);
    db.exec(`PRAGMA max_page_count = ${pages}`);
    const big = "x".repeat(100_000);
    const refused = await send("e2", big);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    // One too large for what is left takes none of its company with it.
    const together = await statusesOf(send("e3"), send("e4", big), send("e5", big));
    expect(together.slice(1)).toEqual([503, 503]);
    db.exec("PRAGMA max_page_count = 1000000");
    expect(await statusesOf(send("e2", big), send("e3"), send("e4", big))).toEqual([200, 200, 200]);
    expect((await events()).map(({ id }) => id).toSorted()).toEqual(["e1", "e2", "e3", "e4"]);
  });
});

describe("an inbox whose database another process has locked", () => {
  it("waits until it is free", async () => {
    const { path, send } = await openInbox("waits", undefined, { busyMs: 60_000 });
    const other = openSqlite(path);
    other.exec("BEGIN IMMEDIATE");
    const patient = send("e1");
    await new Promise((resolve) => setTimeout(resolve, 50));
    other.exec("COMMIT");
    expect((await patient).status).toBe(200);
    await other.close();
  });

  it("answers 503 in the end, and goes on when it is free", async () => {
    const { events, path, send } = await openInbox("busy");
    expect(await statusesOf(send("e1"))).toEqual([200]);
    const other = openSqlite(path);
    other.exec("BEGIN IMMEDIATE");
    const refused = await send("e2");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    other.exec("ROLLBACK");
    await other.close();
    expect(await statusesOf(send("e2"), send("e2"))).toEqual([200, 200]);
    expect((await events()).map(({ id }) => id)).toEqual(["e2", "e1"]);
  });
});

describe("an inbox whose clock jumps", () => {
  const YEAR = 365 * 86_400_000;

  it("counts on, loses nothing and answers newest first, back and forth", async () => {
    const { clock, db, events, send } = await openInbox("jumps");
    for (const [id, ahead] of [
      ["now", 0],
      ["future", YEAR],
      ["past", -YEAR],
      ["again", 1000],
    ] as const) {
      clock.ahead = ahead;
      expect((await send(id)).status).toBe(200);
    }
    const rows = db.rows("SELECT id FROM agents_events ORDER BY seq");
    expect(rows.map(({ id }) => id)).toEqual(["now", "future", "past", "again"]);
    expect((await events()).map(({ id }) => id)).toEqual(["future", "again", "now", "past"]);
  });

  it("goes on counting after retention has dropped the newest event", async () => {
    const { clock, db, platform, send } = await openInbox(
      "dropped",
      { maxAgeDays: 1 },
      { ahead: -YEAR },
    );
    expect(await statusesOf(send("e1"), send("e2"))).toEqual([200, 200]);
    clock.ahead = 0;
    // The alarm is due by the jump, which is noticed.
    const agent = platform.actors.get("agent:webhook-agent", "one");
    const count = (): number =>
      Number(db.rows("SELECT count(*) AS n FROM agents_events")[0]?.["n"]);
    while (count() > 0) await platform.system.sleep(5);
    expect(await agent.call("getEvents")).toEqual([]);
    expect((await send("e3")).status).toBe(200);
    expect(db.rows("SELECT seq FROM agents_events")).toMatchObject([{ seq: 3 }]);
  });
});

describe("retention by count", () => {
  it("holds at most a tenth more than it keeps, and never stalls on what piled up", async () => {
    const { db, send } = await openInbox("count", { maxAgeDays: null, maxEvents: 100 });
    const count = (): number =>
      Number(db.rows("SELECT count(*) AS n FROM agents_events")[0]?.["n"]);
    let most = 0;
    for (let i = 0; i < 25; i++) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => send(`e${i}-${n}`)));
      most = Math.max(most, count());
    }
    expect(most).toBeLessThanOrEqual(120);
    expect(count()).toBeGreaterThanOrEqual(100);
  });
});
