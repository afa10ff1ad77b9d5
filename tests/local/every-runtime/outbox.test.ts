import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { LONG, eventually } from "../../cases/eventually.ts";
import { exitOf, missing, runtimes, start } from "../runtimes.ts";

interface Found {
  readonly sold: number;
  readonly waiting: number;
  readonly sent: readonly number[];
}

function look(dataDir: string): Found {
  const db = new DatabaseSync(join(dataDir, "causey.db"), { readOnly: true, timeout: 5000 });
  try {
    const row = db.prepare("SELECT state FROM agents_entities WHERE agent = ?");
    const state = row.get("outbox-shop/main")?.["state"] ?? '{"sold":0}';
    const jobs = db.prepare("SELECT COUNT(*) AS n FROM agents_jobs").get()?.["n"];
    const payloads = db.prepare("SELECT payload FROM webhooks_messages").all();
    const sent = payloads.map(
      ({ payload }) => (JSON.parse(String(payload)) as { sold: number }).sold,
    );
    return {
      sold: (JSON.parse(String(state)) as { sold: number }).sold,
      waiting: Number(jobs),
      sent: sent.toSorted((a, b) => a - b),
    };
  } finally {
    db.close();
  }
}

describe("an agent's webhooks in a server that is killed", () => {
  it("are sent once for each state that was stored", LONG, async ({ skip }) => {
    const there = runtimes.filter((runtime) => missing(runtime) === false);
    if (there.length === 0) skip("No runtime is installed in tools/");
    const dataDir = mkdtempSync(join(inject("scratch"), "outbox-"));
    let told = 0;
    for (let life = 1; life <= 6; life++) {
      const runtime = there[life % there.length] ?? "node";
      const child = start(runtime, "outbox-child.ts", [runtime, dataDir, String(life)]);
      onTestFinished(() => void child.kill("SIGKILL"));
      let mine = 0;
      child.stdout.on("data", (chunk: Uint8Array) => {
        mine += new TextDecoder().decode(chunk).split("sold\n").length - 1;
        // At a random sale, which is also a random place between a state and its message.
        if (mine > 3 && Math.random() < 0.1) child.kill("SIGKILL");
      });
      expect(await exitOf(child)).toBe("SIGKILL");
      told += mine;
    }
    const last = start("node", "outbox-child.ts", ["node", dataDir, "0"]);
    onTestFinished(() => void last.kill("SIGKILL"));
    await eventually(() => look(dataDir).waiting === 0, "everything is sent");
    last.kill("SIGKILL");
    await exitOf(last);
    const { sold, sent } = look(dataDir);
    expect(sold).toBeGreaterThanOrEqual(told);
    expect(sent).toEqual(Array.from({ length: sold }, (_, index) => index + 1));
  });
});
