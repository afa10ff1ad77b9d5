import { describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, type AgentClass } from "../../../../core/agents/mod.ts";
import { ingest } from "../../../../core/agents/kind/ingest.ts";
import type { IncomingEvent } from "../../../../core/entity/event.ts";
import { SqlError, type SqlErrorReason } from "../../../../core/sql/sql-error.ts";

const event: IncomingEvent = {
  record: {
    id: "e1",
    type: "push",
    action: null,
    title: "A push",
    description: null,
    url: null,
    actor: null,
    payload: "{}",
    timestamp: "2026-01-01T00:00:00.000Z",
  },
  provider: "test",
  headers: "{}",
  bodyHash: "00",
  bodyWindowMs: 0,
  canonical: null,
  owners: ["test"],
  claim: "free",
  respond: "queued",
  retention: { maxEvents: null, maxAgeMs: null },
};

describe("ingest()", () => {
  const failing = (reason: SqlErrorReason): Promise<unknown> =>
    ingest(event, {
      agent: "a/b",
      now: 0,
      steady: 0,
      jobId: "j",
      isClaimed: false,
      prunes: false,
      reports: null,
      owner: null,
      sql: { dialect: "sqlite", all: () => Promise.resolve([]) },
      clock: { write: () => Promise.reject(new SqlError(reason, reason)) },
    });

  it("is 503 with Retry-After when the store is full or busy, so that the sender comes back", async () => {
    for (const [reason, code, message] of [
      ["full", 10506, /server's disk is full: send it again later$/u],
      ["busy", 10503, /^The event could not be stored: send it again later$/u],
    ] as const) {
      await expect(failing(reason)).rejects.toMatchObject({
        status: 503,
        code,
        message: expect.stringMatching(message),
        options: { headers: { "retry-after": "5" } },
      });
    }
  });

  it("does not hide any other failure of the store behind a retry", async () => {
    for (const reason of ["invalid", "fenced"] as const)
      await expect(failing(reason)).rejects.toBeInstanceOf(SqlError);
  });
});

describe("a job that was running when the process ended", () => {
  it("runs again with the next attempt", async () => {
    const attempts: number[] = [];
    let hold = true;
    const make = (): AgentClass =>
      defineAgent({
        name: "interrupted",
        async onEvent(_agent, _event, run) {
          attempts.push(run.attempt);
          // The first run never ends: its process is gone before.
          if (hold) await new Promise(() => undefined);
        },
        timeoutMs: 3_600_000,
      });
    const data = `interrupted-${Math.trunc(performance.now())}`;
    const first = await openPlatform({ data });
    agents({ platform: first, auth: "off", agents: [make()] });
    await first.actors.get("agent:interrupted", "x").call("ingest", event);
    while (attempts.length < 1) await first.system.sleep(5);
    hold = false;
    await first.close();
    const second = await openPlatform({ data });
    agents({ platform: second, auth: "off", agents: [make()] });
    while (attempts.length < 2) await second.system.sleep(5);
    expect(attempts).toEqual([1, 2]);
    await second.close();
  });
});
