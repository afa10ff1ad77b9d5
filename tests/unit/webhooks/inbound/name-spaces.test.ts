import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, getAgentByName } from "../../../../core/agents/mod.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import { webhookIndex } from "../../../../core/entity/webhook-index.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement, type SourceOptions } from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import { githubRequest, SECRET, signedRequest } from "../../../fakes/webhooks-sender.ts";

const secret = SECRET;
const generic: SourceOptions = { scheme: "generic", secret };
const logged: [message: string, fields: Record<string, unknown>][] = [];

/** Fails for the events of type `bad`. */
const shop = defineAgent({
  name: "shop",
  onEvent(_, event) {
    if (event.type === "bad") throw new Error("bad");
  },
  retry: { maxAttempts: 1 },
  callable: { clear: (agent) => agent.destroy() },
});

/** Has a database of its own to begin with. */
const legacy = defineAgent({ name: "legacy" });

const sources: Readonly<Record<string, SourceOptions>> = {
  alpha: generic,
  beta: generic,
  left: { ...generic, group: "pair" },
  right: { ...generic, group: "pair" },
  github: { scheme: "github", secret },
  gitlab: { scheme: "gitlab", secret },
  weak: { ...generic, prefixed: true },
  "odd:%": generic,
  keeper: {
    ...generic,
    entities: ["kept"],
    entitySecrets: { vault: "a secret of the vault's own" },
  },
  eu: { ...generic, agent: "shop" },
  us: { ...generic, agent: "shop" },
};

let platform: Platform;
let app: Hono;
beforeAll(async () => {
  const opened = await openPlatform();
  platform = {
    ...opened,
    log: (_, message, fields) => void logged.push([message, fields ?? {}]),
  };
  app = serve(sources);
  app.route("/", webhooksManagement({ platform, auth: "off", sources }));
  app.route("/agents", agents({ platform, auth: "off", agents: [shop, legacy] }));
});
afterAll(() => platform.close());

function serve(some: Readonly<Record<string, SourceOptions>>): Hono {
  const served = new Hono();
  served.route("/webhooks", webhooks({ platform, sources: some }));
  return served;
}

interface Answer {
  readonly id: string;
  readonly entity: string;
  readonly status: string;
}

async function answer(request: Request, on = app): Promise<Answer> {
  const response = await on.fetch(request);
  expect(response.status).toBeLessThan(300);
  return ((await response.json()) as { result: Answer }).result;
}

async function post(path: string, id: string, on = app, type = "t"): Promise<string> {
  const body = { event_id: id, type };
  return (await answer(await signedRequest(`/webhooks/${path}`, body), on)).entity;
}

async function manage<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const url = `http://causey.test/accounts/local/webhooks${path}`;
  const response = await app.fetch(new Request(url, init));
  return ((await response.json()) as { result: T }).result;
}

type Row = EventRecord & { readonly source: string };

async function eventsAt(query: string): Promise<string[]> {
  const rows = await manage<Row[]>("GET", `/events?${query}`);
  return rows.map(({ id, source }) => `${source}/${id}`);
}

describe("an entity that several sources name", () => {
  it("is one for each: the first has the plain name, the others theirs with the source in front", async () => {
    expect(await post("alpha/mine", "one")).toBe("mine");
    expect(await post("beta/mine", "one")).toBe("beta:mine");
    expect(await post("beta/mine", "two")).toBe("beta:mine");
    expect(await post("alpha/mine", "two")).toBe("mine");
    for (const query of ["entity=mine", "entity=mine&source=alpha"])
      expect(await eventsAt(query)).toEqual(["alpha/two", "alpha/one"]);
    for (const query of ["entity=beta:mine", "entity=mine&source=beta"])
      expect(await eventsAt(query)).toEqual(["beta/two", "beta/one"]);
    const { status } = await answer(
      await signedRequest("/webhooks/beta/mine", { event_id: "two" }),
    );
    expect(status).toBe("duplicate");
  });

  it("is told at the start, by agent class", () => {
    const message = "Webhook sources meet in an agent class: each has entities of its own";
    expect(logged).toContainEqual([message, { agent: "shop", sources: "eu, us" }]);
    const names =
      "alpha, beta, pair (left, right), github, gitlab, weak, odd%3A%25 (odd:%), keeper";
    expect(logged).toContainEqual([message, { agent: "webhook-agent", sources: names }]);
  });

  it("loses no event, however many sources begin at once", async () => {
    const posted = Array.from({ length: 20 }, (_, n) =>
      post(`${n % 2 === 0 ? "alpha" : "beta"}/raced`, `r-${n}`),
    );
    const names = new Set(await Promise.all(posted));
    expect(names.has("raced")).toBe(true);
    expect(names.size).toBe(2);
    for (const source of ["alpha", "beta"]) {
      const found = await eventsAt(`entity=raced&source=${source}&limit=100`);
      expect(found).toHaveLength(10);
      expect(found.every((one) => one.startsWith(`${source}/`))).toBe(true);
    }
  });

  it("is one for a group, and source= tells its events apart", async () => {
    expect(await post("left/shared", "one")).toBe("shared");
    expect(await post("right/shared", "one")).toBe("shared");
    expect(await post("alpha/shared", "one")).toBe("alpha:shared");
    expect(await eventsAt("entity=shared")).toEqual(["right/one", "left/one"]);
    expect(await eventsAt("entity=shared&source=left")).toEqual(["left/one"]);
    expect(await post("alpha/taken", "one")).toBe("taken");
    expect(await post("right/taken", "one")).toBe("pair:taken");
    expect(await post("left/taken", "one")).toBe("pair:taken");
  });

  it("of GitHub and GitLab has two agents, and identifiers of one form have theirs", async () => {
    const github = async (name: string, id: string): Promise<string> => {
      const body = { repository: { full_name: name } };
      return (await answer(await githubRequest("/webhooks/github", body, id))).entity;
    };
    const headers = { "x-gitlab-token": secret, "idempotency-key": "g" };
    const body = JSON.stringify({ project: { path_with_namespace: "Octo/Hello" } });
    const url = "http://causey.test/webhooks/gitlab";
    expect(await github("Octo/Hello", "1")).toBe("octo-hello");
    const gitlab = await answer(new Request(url, { method: "POST", body, headers }));
    expect(gitlab.entity).toBe("gitlab:octo-hello");
    expect(await github("Octo-Hello/X", "2")).toBe("octo-hello-x");
    expect(await github("Octo/Hello-X", "3")).toMatch(/^octo-hello-x-[0-9a-f]{8}$/);
    expect(await post("alpha/two-parts-x", "one")).toBe("two-parts-x");
    expect(await github("Two/Parts-X", "4")).toBe("github:two-parts-x");
    expect(await github("Two-Parts/X", "5")).toMatch(/^github:two-parts-x-[0-9a-f]{8}$/);
    expect(await github("Two-Parts/X", "6")).toMatch(/^github:two-parts-x-[0-9a-f]{8}$/);
  });
});

describe("a plain name", () => {
  it("is never taken by a source that is always prefixed, which keeps what it had before", async () => {
    expect(await post("weak/secure", "one")).toBe("weak:secure");
    expect(await post("alpha/secure", "one")).toBe("secure");
    const before = serve({ alpha: generic, weak: generic });
    expect(await post("weak/older", "one", before)).toBe("older");
    expect(await post("weak/older", "two")).toBe("older");
    expect(await post("alpha/older", "one")).toBe("alpha:older");
  });

  it("is whose the configuration says, also when another wrote first", async () => {
    expect(await post("alpha/kept", "one")).toBe("alpha:kept");
    expect(await post("alpha/vault", "one")).toBe("alpha:vault");
    expect(await post("keeper/kept", "one")).toBe("kept");
    expect(await post("alpha/later", "one")).toBe("later");
    const later = serve({ alpha: generic, late: { ...generic, entities: ["later"] } });
    expect(await post("late/later", "one", later)).toBe("later");
    expect(await post("alpha/later", "two", later)).toBe("alpha:later");
    expect(await post("alpha/later", "three")).toBe("alpha:later");
  });

  it("of an entity cannot be made to look like another's with its prefix", async () => {
    // An attacker's entities, before and after those that they imitate.
    expect(await post("alpha/beta:victim", "one")).toBe("alpha:beta:victim");
    expect(await post("alpha/victim", "one")).toBe("victim");
    expect(await post("beta/victim", "one")).toBe("beta:victim");
    expect(await post("alpha/alpha:victim", "one")).toBe("alpha:alpha:victim");
    expect(await post("alpha/alpha:beta:victim", "one")).toBe("alpha:alpha:beta:victim");
    expect(await post("alpha/beta:victim", "one")).toBe("alpha:beta:victim");
    expect(await post("weak/alpha:victim", "one")).toBe("weak:alpha:victim");
    expect(await post("alpha/a:b", "one")).toBe("a:b");
    expect(await post("beta/a:b", "one")).toBe("beta:a:b");
    expect(await post("odd:%25/victim", "one")).toBe("odd%3A%25:victim");
    expect(await post("alpha/%253A%25:victim", "one")).toBe("%3A%:victim");
    for (const name of ["beta:victim", "alpha:beta:victim", "alpha:alpha:victim"])
      expect(await eventsAt(`entity=${encodeURIComponent(name)}`)).toHaveLength(1);
  });

  it("that looked otherwise before the other source was there does not take its events", async () => {
    const before = serve({ alpha: generic });
    expect(await post("alpha/us:early", "one", before)).toBe("us:early");
    const after = serve({ alpha: generic, us: generic });
    expect(await post("alpha/early", "one", after)).toBe("early");
    expect(await post("us/early", "one", after)).toMatch(/^us:early-[0-9a-f]{8}$/);
    // It keeps its address.
    expect(await post("alpha/us:early", "two", after)).toBe("us:early");
    expect(await eventsAt("entity=us:early")).toEqual(["alpha/two", "alpha/one"]);
  });
});

describe("a changed configuration", () => {
  it("finds out whose the plain names are in a database of before", async () => {
    const row = { source: "old", last_seen: "2026-01-01T00:00:00.000Z" };
    const report = { agent: "legacy", entity: "x", row, failures: [], settled: [] };
    await webhookIndex(platform.actors).report(report);
    const source = { ...generic, agent: "legacy" };
    const both = serve({ old: source, other: source });
    expect(await post("other/y", "one", both)).toBe("other:y");
    expect(await post("old/y", "one", both)).toBe("y");
    expect(await post("old/x", "one", both)).toBe("x");
  });

  it("keeps plain names for the source that had the class to itself", async () => {
    const [first, second] = [
      { ...generic, agent: "shop" },
      { ...generic, agent: "shop" },
    ];
    expect(await post("first/s-1", "one", serve({ first }))).toBe("s-1");
    const both = serve({ first, second });
    // The second's senders cannot take the names of entities that the first is still to have.
    expect(await post("second/s-2", "one", both)).toBe("second:s-2");
    expect(await post("first/s-2", "one", both)).toBe("s-2");
    expect(await post("third/s-3", "one", serve({ second, third: first }))).toBe("s-3");
    const grouped = { first: { ...first, group: "g" }, second, third: { ...first, group: "g" } };
    expect(await post("third/s-4", "one", serve(grouped))).toBe("s-4");
  });

  it("leaves instances their names when a second source comes", async () => {
    const alone = serve({ one: generic });
    expect(await post("one/kept-name", "one", alone)).toBe("kept-name");
    const both = serve({ one: generic, two: generic });
    expect(await post("two/kept-name", "one", both)).toBe("two:kept-name");
    expect(await post("one/kept-name", "two", both)).toBe("kept-name");
    // And when the first goes: the second's has a name already.
    const second = serve({ two: generic });
    expect(await post("two/kept-name", "two", second)).toBe("two:kept-name");
    expect(await eventsAt("entity=kept-name")).toEqual(["one/two", "one/one"]);
  });

  it("goes on with the entities of a renamed source, alone or with its former name", async () => {
    expect(await post("alpha/moved", "one")).toBe("moved");
    expect(await post("renamed/moved", "one", serve({ renamed: generic }))).toBe("moved");
    expect(await post("alpha/moved", "two")).toBe("alpha:moved");
    expect(await post("alpha/again", "one")).toBe("again");
    const beside = { beta: generic, renamed: { ...generic, formerNames: ["alpha"] } };
    expect(await post("renamed/again", "one", serve(beside))).toBe("again");
    const { renamed: _, ...rest } = beside;
    expect(await post("other/again", "one", serve({ ...rest, other: generic }))).toBe(
      "other:again",
    );
  });

  it("goes on with a source's entities in a group", async () => {
    expect(await post("alpha/grouped", "one")).toBe("grouped");
    const [alpha, gamma] = [
      { ...generic, group: "g" },
      { ...generic, group: "g" },
    ];
    expect(await post("gamma/grouped", "one", serve({ alpha, gamma, beta: generic }))).toBe(
      "grouped",
    );
  });

  it("that could have two names meet is refused", () => {
    const both = { one: { ...generic, entities: ["x"] }, two: { ...generic, entities: ["x"] } };
    expect(() => serve(both)).toThrow(/"one" and "two" are both given the entity "x"/);
    expect(() => serve({ ...both, two: { ...both.two, agent: "shop" } })).not.toThrow();
    const named = { pay: generic, chat: { ...generic, group: "pay" } };
    expect(() => serve(named)).toThrow('The group "pay" has the name of a webhook source');
    const member = { pay: { ...generic, group: "pay" }, chat: { ...generic, group: "pay" } };
    expect(() => serve(member)).not.toThrow();
    const own = { ...generic, entitySecrets: { vault: "a secret of the vault's own" } };
    expect(() => serve({ one: own, two: own })).not.toThrow();
  });
});

describe("what is asked with a source", () => {
  it("is about its own instance: lists, states, replays, dead letters", async () => {
    expect(await post("eu/acct", "one", app, "bad")).toBe("acct");
    expect(await post("us/acct", "one", app, "bad")).toBe("us:acct");
    const dead = async (): Promise<{ id: string; source: string; entity: string }[]> =>
      manage("GET", "/dead-letters?source=us&entity=acct");
    await eventually(async () => (await dead()).length === 1, "it is given up");
    const index = "/dead-letters?agent=shop";
    await eventually(
      async () => (await manage<unknown[]>("GET", index)).length === 2,
      "both are listed",
    );
    const rows = await manage<{ entity: string; source: string }[]>("GET", index);
    expect(rows.map(({ entity, source }) => `${source} ${entity}`).toSorted()).toEqual([
      "eu acct",
      "us us:acct",
    ]);
    const entities = await manage<{ entity: string }[]>("GET", "/entities?source=us&agent=shop");
    expect(entities.map(({ entity }) => entity)).toEqual(["us:acct"]);
    const [letter] = await dead();
    const replay = `/dead-letters/${letter?.id}/replay`;
    // The other source's instance knows nothing of it.
    expect(await manage("POST", `${replay}?source=eu&entity=acct`)).toBeNull();
    expect(await manage("POST", `${replay}?source=us&entity=acct`)).toMatchObject({
      job: expect.any(String) as string,
    });
    await eventually(async () => (await dead()).length === 1, "it is given up again");
    expect(await manage("POST", "/events/one/replay?source=us&entity=acct")).toMatchObject({
      job: expect.any(String) as string,
    });
  });

  it("has only its own events run again", async () => {
    expect(await post("eu/again", "one")).toBe("again");
    expect(await post("us/again", "one")).toBe("us:again");
    const listed = "/entities?agent=shop&source=us&limit=100";
    const list = async (): Promise<string> => JSON.stringify(await manage("GET", listed));
    await eventually(async () => (await list()).includes('"us:again"'), "it is listed");
    const filter = { of: "events", source: "us", entity: "again" };
    const { id } = await manage<{ id: string }>("POST", "/replays", filter);
    const done = async (): Promise<unknown> => manage("GET", `/replays/${id}`);
    await eventually(async () => JSON.stringify(await done()).includes("completed"), "it is done");
    expect(await done()).toMatchObject({ entities: 1, queued: 1, entity: "us:again" });
  });

  it("lists what a group shares for each of its sources", async () => {
    expect(await post("left/listed", "one")).toBe("listed");
    for (const source of ["left", "right"]) {
      const of = async (): Promise<string> =>
        JSON.stringify(await manage("GET", `/entities?source=${source}&limit=100`));
      await eventually(async () => (await of()).includes('"listed"'), "it is listed");
    }
  });

  it("begins again where an instance was destroyed", async () => {
    expect(await post("eu/ended", "one")).toBe("ended");
    expect(await post("us/ended", "one")).toBe("us:ended");
    await getAgentByName(platform, shop, "ended").clear();
    expect(await post("us/ended", "two")).toBe("us:ended");
    expect(await post("eu/ended", "one")).toBe("ended");
    expect(await eventsAt("entity=ended&source=eu")).toEqual(["eu/one"]);
  });
});
