import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { prepareTarget, webhookSecrets, type PreparedTarget } from "./prepare-target.ts";
import { rawSocket } from "./raw-socket.ts";
import { noBrowser, startTarget, targetName, type Target } from "./target.ts";

let prepared: PreparedTarget;
let server: Target;

async function start(...more: string[]): Promise<Target> {
  return startTarget({
    args: ["--account-id", prepared.accountId, "--config", prepared.configFile, ...more],
    env: { ...noBrowser, CAUSEY_TOKEN: prepared.token },
  });
}

beforeAll(async () => {
  prepared = await prepareTarget();
  server = await start();
});
afterAll(async () => {
  await server.stop();
  await prepared.stop();
});

const PAYLOAD = "x".repeat(64 * 1024);

async function event(entity: string, id: string): Promise<void> {
  const body = JSON.stringify({ id, type: "flood", entity, filler: PAYLOAD });
  const signature = createHmac("sha256", webhookSecrets.generic).update(body).digest("hex");
  const response = await fetch(`${server.url}/webhooks/generic`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-signature": `sha256=${signature}` },
  });
  await response.body?.cancel();
  expect(response.status).toBe(200);
}

function agentUrl(entity: string, query = ""): URL {
  const base = server.url.replace("http", "ws");
  return new URL(`${base}/agents/webhook-agent/${entity}?token=${prepared.token}${query}`);
}

const seqOf = (text: string): number | null => {
  const frame = JSON.parse(text) as { readonly type: string; readonly seq?: number };
  return frame.type === "event" ? (frame.seq ?? null) : null;
};

/** Follows by a client that reads; the events in the order in which they came. */
function follow(entity: string, since: number, count: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const came: number[] = [];
    const socket = new WebSocket(agentUrl(entity, `&since=${since}`));
    socket.addEventListener("message", ({ data }) => {
      const seq = seqOf(String(data));
      if (seq !== null) came.push(seq);
      if (came.length < count) return;
      socket.close();
      resolve(came);
    });
    socket.addEventListener("close", ({ code }) => {
      reject(new Error(`Closed with ${code} after ${came.length} events`));
    });
  });
}

/** Sends `count` events, one after the other. */
async function flood(entity: string, count: number): Promise<void> {
  for (let seq = 1; seq <= count; seq++) await event(entity, `e${seq}`);
}

/** Resident memory of the server in MiB. */
function resident(): number {
  const status = readFileSync(`/proc/${server.child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

const SLOW = 20;
const COUNT = 300;

const onWorkers = (reason: string): string | undefined =>
  targetName() === "workers" ? reason : undefined;

describe("clients that stop reading", () => {
  itUnless(
    onWorkers("workerd tells nobody how much of a socket is unsent: the bound is an estimate"),
  )(
    "cost neither memory nor the others' time, are closed, and resume where they were",
    LONG,
    async () => {
      // The same load without them first, so that what is compared is a server in its stride.
      const calm = follow("calm", 0, COUNT);
      await flood("calm", COUNT);
      await calm;
      const before = resident();
      const slow = await Promise.all(
        Array.from({ length: SLOW }, () => rawSocket(agentUrl("flooded", "&since=0"))),
      );
      const fast = follow("flooded", 0, COUNT);
      await flood("flooded", COUNT);
      const came = await fast;
      const growth = resident() - before;
      // Kept in full the unread events would be SLOW × 19 MiB, less what the kernel's buffers take.
      expect(growth).toBeLessThan(150);
      // Those that read have everything while nobody has read the others' sockets.
      expect(came).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
      for (const [index, client] of slow.entries()) {
        if (index >= 2) {
          client.destroy();
          continue;
        }
        const { code, texts } = await client.drain();
        // Whoever does not read the close frame in time is dropped without one.
        expect([1013, null]).toContain(code);
        const seen = texts.map(seqOf).filter((seq) => seq !== null);
        expect(seen.length).toBeLessThan(COUNT);
        expect(seen).toEqual(seen.map((_, at) => at + 1));
        const more = await follow("flooded", seen.length, COUNT - seen.length);
        expect(more[0]).toBe(seen.length + 1);
        expect(more.at(-1)).toBe(COUNT);
      }
    },
  );
});

describe("an endless stream of events", () => {
  itUnless(onWorkers("workerd's own server decides when it ends: a Worker is not asked"))(
    "ends whole and at once when the server is asked to stop",
    async () => {
      // Whatever waited for the grace would outlast stop(), which then ends the server with a failure.
      const own = await start("--grace-ms", "600000");
      const headers = { authorization: `Bearer ${prepared.token}` };
      const response = await fetch(`${own.url}/agents/webhook-agent/endless/events`, { headers });
      const reader = response.body!.getReader();
      await reader.read();
      const stopped = own.stop();
      for (;;) if ((await reader.read()).done) break;
      expect(await stopped).toBe(0);
    },
  );
});
