import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodePlatform, serve, type Served } from "../../adapters/node/mod.ts";
import { defineAgent } from "../../core/agents/mod.ts";
import { platformApi } from "../../core/api.ts";
import type { Platform } from "../../core/ports.ts";
import { eventually, LONG } from "../cases/eventually.ts";
import { causey } from "../local/command/run-command.ts";
import type { LocalRuntimeName } from "../local/runtimes.ts";
import { documented } from "./documented.ts";
import { targetName } from "./target.ts";

// A configuration file can name no agent with a handler of its own: that takes a program.

const token = "token-of-the-replayed-events-000000000";
const secret = "secret-of-the-replayed-events-00000000";
const target = targetName();
const runtime: LocalRuntimeName = target === "workers" ? "node" : target;
const folder = mkdtempSync(join(tmpdir(), "causey-replay-"));
const handled: string[] = [];
let isBroken = false;
let platform: Platform;
let served: Served;
let url: string;

const keeper = defineAgent({
  name: "keeper",
  feed: true,
  retry: { maxAttempts: 1 },
  onEvent(_agent, { id }) {
    if (isBroken) throw new Error("not now");
    handled.push(id);
  },
});

beforeAll(async () => {
  platform = await nodePlatform({ dataDir: folder });
  const app = platformApi({
    platform,
    tokens: [{ token, permissions: ["*"], accounts: ["*"] }],
    agents: [keeper],
    webhooks: {
      sources: {
        generic: { scheme: "generic", secret, entity: { from: "path" }, agent: "keeper" },
      },
    },
  });
  served = await serve(app, { port: 0 });
  ({ url } = served);
});
afterAll(async () => {
  await served?.close();
  await platform?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function send(id: string): Promise<void> {
  const body = JSON.stringify({ event_id: id, type: "ping" });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = { "x-signature": `sha256=${signature}` };
  const response = await fetch(`${url}/webhooks/generic/one`, { method: "POST", body, headers });
  expect(response.ok).toBe(true);
}

async function run(...args: string[]): Promise<unknown[]> {
  const all = ["agents", ...args, "--agent", "keeper", "--url", url, "--json"];
  const { code, out, err } = await causey(all, { CAUSEY_TOKEN: token }, runtime);
  expect([code, err]).toEqual([0, ""]);
  const lines = out.split("\n").filter((line) => line !== "");
  return lines.map((line): unknown => JSON.parse(line));
}

describe(`causey agents replay on ${runtime}`, LONG, () => {
  it("hands an event to its agent again", async () => {
    await send("first");
    await expect.poll(() => handled).toEqual(["first"]);
    expect(await run("replay", "one", "first")).toEqual([{ job: expect.any(String) }]);
    await expect.poll(() => handled).toEqual(["first", "first"]);
  });

  it("hands a job that was given up to its agent again", async () => {
    isBroken = true;
    await send("second");
    let dead: unknown[] = [];
    await eventually(async () => {
      dead = await run("dead", "one");
      return dead.length === 1;
    }, "the job is given up");
    expect(dead[0]).toMatchObject({ error: "not now", attempts: 1 });
    isBroken = false;
    const { id } = dead[0] as { id: string };
    expect(await run("replay", "one", id)).toEqual([{ job: expect.any(String) }]);
    await expect.poll(() => handled.at(-1)).toBe("second");
    expect(await run("dead", "one")).toEqual([]);
  });

  it("gets answers that the description has", async () => {
    isBroken = true;
    await send("third");
    const api = documented();
    const root = `${url}/client/v4/accounts/local/webhooks`;
    const ask = async (method: string, path: string, operation: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${root}${path}`, { method, headers });
      const body = (await response.json()) as { readonly result: unknown };
      const name = `${method} /client/v4/accounts/{account_id}/webhooks${operation}`;
      expect(api.problem(name, response.status, body)).toBe("");
      return body.result;
    };
    let dead: readonly { id: string }[] = [];
    await eventually(async () => {
      // `as`: the description has just said so.
      dead = (await ask("GET", "/dead-letters", "/dead-letters")) as typeof dead;
      return dead.length === 1;
    }, "the job is given up");
    isBroken = false;
    const [{ id } = { id: "" }] = dead;
    const query = "?entity=one&agent=keeper";
    await ask("POST", `/events/first/replay${query}`, "/events/{id}/replay");
    await ask("POST", `/dead-letters/${id}/replay${query}`, "/dead-letters/{id}/replay");
  });
});
