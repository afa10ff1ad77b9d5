import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement, type SourceOptions } from "../../../../core/webhooks/mod.ts";
import { githubRequest, SECRET, signedRequest } from "../../../fakes/webhooks-sender.ts";

const secret = SECRET;
const generic: SourceOptions = { scheme: "generic", secret };
const logged: Record<string, unknown>[] = [];

/** Its `clear` ends an entity's life, its owner included. */
const clearable = defineAgent({
  name: "clearable",
  callable: { clear: (agent) => agent.destroy() },
});

let platform: Platform;
let app: Hono;
let management: Hono;

beforeAll(async () => {
  const opened = await openPlatform();
  platform = { ...opened, log: (_, __, fields) => void logged.push(fields ?? {}) };
  app = serve({
    alpha: generic,
    beta: generic,
    left: { ...generic, group: "pair" },
    right: { ...generic, group: "pair" },
    github: { scheme: "github", secret },
    keeper: {
      ...generic,
      entities: ["kept"],
      entitySecrets: { vault: "a secret of the vault's own" },
    },
  });
  management = webhooksManagement({ platform, auth: "off", sources: { alpha: generic } });
  app.route("/agents", agents({ platform, auth: "off", agents: [clearable] }));
});
afterAll(() => platform.close());

function serve(sources: Readonly<Record<string, SourceOptions>>): Hono {
  const served = new Hono();
  const options = { platform, auth: "off", sources } as const;
  served.route("/webhooks", webhooks(options));
  return served;
}

async function status(path: string, id: string, on = app): Promise<number> {
  const response = await on.fetch(await signedRequest(`/webhooks/${path}`, { event_id: id }));
  await response.body?.cancel();
  return response.status;
}

async function sourcesOf(entity: string, query = ""): Promise<string[]> {
  const url = `http://causey.test/accounts/local/webhooks/events?entity=${entity}${query}`;
  const response = await management.fetch(new Request(url));
  const { result } = (await response.json()) as { result: (EventRecord & { source: string })[] };
  return result.map(({ id, source }) => `${source}:${id}`);
}

describe("an entity", () => {
  it("belongs to the source that wrote to it first, and others are refused and logged", async () => {
    expect(await status("alpha/mine", "a-1")).toBe(200);
    const refused = await app.fetch(
      await signedRequest("/webhooks/beta/mine", { event_id: "b-1" }),
    );
    const { errors } = (await refused.json()) as { errors: { message: string }[] };
    expect(refused.status).toBe(409);
    expect(errors[0]?.message).toBe(
      'The entity "mine" belongs to another source: sources that share entities need the same "group"',
    );
    expect(logged).toContainEqual({ source: "beta", entity: "mine", owner: "alpha" });
    expect(await status("alpha/mine", "a-2")).toBe(200);
    expect(await sourcesOf("mine")).toEqual(["alpha:a-2", "alpha:a-1"]);
  });

  it("has one owner, however many sources begin at once", async () => {
    const paths = Array.from({ length: 20 }, (_, n) => `${n % 2 === 0 ? "alpha" : "beta"}/raced`);
    const statuses = await Promise.all(paths.map((path, n) => status(path, `r-${n}`)));
    expect(statuses.filter((one) => one === 200)).toHaveLength(10);
    expect(statuses.filter((one) => one === 409)).toHaveLength(10);
    expect(new Set((await sourcesOf("raced")).map((one) => one.split(":")[0])).size).toBe(1);
  });

  it("is shared by the sources of a group, and source= tells their events apart", async () => {
    expect(await status("left/shared", "l-1")).toBe(200);
    expect(await status("right/shared", "r-1")).toBe(200);
    expect(await status("alpha/shared", "a-1")).toBe(409);
    expect(await sourcesOf("shared")).toEqual(["right:r-1", "left:l-1"]);
    expect(await sourcesOf("shared", "&source=left")).toEqual(["left:l-1"]);
  });

  it("that the configuration gives to a source is that one's, also when another wrote first", async () => {
    expect(await status("alpha/kept", "a-1")).toBe(409);
    expect(await status("alpha/vault", "a-1")).toBe(409);
    expect(await status("keeper/kept", "k-1")).toBe(200);
    expect(await status("alpha/later", "a-1")).toBe(200);
    const later = serve({ alpha: generic, late: { ...generic, entities: ["later"] } });
    expect(await status("late/later", "l-1", later)).toBe(200);
    expect(await status("alpha/later", "a-2", later)).toBe(409);
    expect(await status("alpha/later", "a-3")).toBe(409);
  });

  it("of another identifier with the same form stays beside it, whoever sends", async () => {
    expect(await status("alpha/octo-hello", "a-1")).toBe(200);
    const send = async (name: string): Promise<Response> =>
      app.fetch(
        await githubRequest("/webhooks/github", { repository: { full_name: name } }, `g-${name}`),
      );
    expect((await send("Octo/Hello")).status).toBe(409);
    expect((await send("Two/Parts-X")).status).toBe(200);
    expect((await send("Two-Parts/X")).status).toBe(200);
  });

  it("goes with its source into a group, and under a new name", async () => {
    expect(await status("alpha/moved", "a-1")).toBe(200);
    const grouped = serve({
      alpha: { ...generic, group: "g" },
      gamma: { ...generic, group: "g" },
      renamed: generic,
    });
    expect(await status("gamma/moved", "g-1", grouped)).toBe(200);
    expect(await status("renamed/moved", "n-1", grouped)).toBe(409);
    const renamed = serve({ renamed: { ...generic, formerNames: ["alpha"] } });
    expect(await status("renamed/moved", "n-2", renamed)).toBe(200);
  });

  it("cannot be given to two sources that share nothing", () => {
    const both = { one: { ...generic, entities: ["x"] }, two: { ...generic, entities: ["x"] } };
    expect(() => serve(both)).toThrow(/"one" and "two" are both given the entity "x"/);
    const apart = { ...both, two: { ...both.two, agent: "clearable" } };
    expect(() => serve(apart)).not.toThrow();
  });
});
