import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import { toHex } from "../../../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../../../core/crypto/hmac.ts";
import type { Log, Platform } from "../../../../core/ports.ts";
import {
  webhooks,
  webhooksManagement,
  type WebhooksOptions,
} from "../../../../core/webhooks/mod.ts";
import type { SourceList, StoredSource } from "../../../../core/webhooks/sources/stored-sources.ts";
import { eventually } from "../../../cases/eventually.ts";
import { SECRET } from "../../../fakes/webhooks-sender.ts";

let platform: Platform;
let options: WebhooksOptions;
let inbound: Hono;
let management: Hono;
const lines: string[] = [];

beforeAll(async () => {
  const real = await openPlatform();
  const log: Log = (level, message, facts) =>
    void lines.push(`${level} ${message} ${JSON.stringify(facts)}`);
  platform = { ...real, log };
  options = {
    platform,
    auth: "off",
    accountId: "owner",
    sources: { filed: { scheme: "generic", secret: SECRET } },
  };
  inbound = webhooks(options);
  management = webhooksManagement(options);
  agents({ platform, auth: "off" });
});
afterAll(() => platform.close());

let events = 0;

interface Taken {
  readonly status: number;
  readonly entity: string | undefined;
}

/** Sends an event of a sender who signs with `secret`. */
async function event(name: string, secret: string, of = inbound, entity = "thing"): Promise<Taken> {
  const body = JSON.stringify({ event_id: `e${++events}`, type: "paid" });
  const signature = toHex(await hmacSign(await hmacKey(secret), body));
  const headers = { "x-signature": `sha256=${signature}` };
  const url = `http://causey.test/${name}/${encodeURIComponent(entity)}`;
  const answer = await of.fetch(new Request(url, { method: "POST", body, headers }));
  const { result } = (await answer.json()) as { result: { entity?: string } | null };
  return { status: answer.status, entity: result?.entity };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly result: Readonly<Record<string, unknown>>;
}

async function api(
  method: string,
  path: string,
  body?: object,
  account = "owner",
): Promise<Answer> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const url = `http://causey.test/accounts/${account}/webhooks${path}`;
  const answer = await management.fetch(new Request(url, init));
  const text = await answer.text();
  const { result } = JSON.parse(text) as Pick<Answer, "result">;
  return { status: answer.status, text, result };
}

const statusOf = async (...args: Parameters<typeof api>): Promise<number> =>
  (await api(...args)).status;

const secretOf = (_: unknown, n: number): string => `secret number ${n} of many`;
const shortText = (_: unknown, n: number): string => n.toString(36);
const FIRST = "the first secret of it";
const SECOND = "the second secret of it";

const genericSource = (name: string): object => ({ name, scheme: "generic", secret: FIRST });

describe("a source of the API", () => {
  it("receives at once, is changed and rotated at once, and is gone at once", async () => {
    expect((await event("shop", FIRST)).status).toBe(404);
    const given = { name: "shop", scheme: "generic", secret: FIRST };
    const made = await api("POST", "/sources", given);
    expect([made.status, made.result]).toMatchObject([
      201,
      { name: "shop", scheme: "generic", declared: false, error: null, agent: "webhook-agent" },
    ]);
    expect([await event("shop", FIRST), await event("shop", SECOND)]).toMatchObject([
      { status: 200 },
      { status: 401 },
    ]);

    const changed = await api("PUT", "/sources/shop", { scheme: "generic", respond: "queued" });
    expect(changed.result).toMatchObject({ respond: "queued", secrets: [{ expires_at: null }] });
    // The secret that was left out stays.
    expect((await event("shop", FIRST)).status).toBe(202);
    await api("PUT", "/sources/shop", { scheme: "generic" });

    const rotated = await api("POST", "/sources/shop/rotate", { secret: SECOND });
    expect(rotated.result["secrets"]).toMatchObject([
      { expires_at: null },
      { expires_at: expect.any(String) },
    ]);
    for (const secret of [FIRST, SECOND]) expect((await event("shop", secret)).status).toBe(200);
    await api("POST", "/sources/shop/rotate", { secret: "the third secret", grace_seconds: 0 });
    for (const secret of [FIRST, SECOND]) expect((await event("shop", secret)).status).toBe(401);

    expect(await statusOf("DELETE", "/sources/shop")).toBe(200);
    expect((await event("shop", "the third secret")).status).toBe(404);
    expect(await statusOf("DELETE", "/sources/shop")).toBe(404);
  });

  it("shows no secret, and stores none that could be read", async () => {
    const secrets = { verifyToken: "a token to verify", entitySecrets: { own: "a secret of one" } };
    const given = { name: "sealed", scheme: "generic", secret: FIRST, ...secrets };
    const texts = [
      (await api("POST", "/sources", given)).text,
      (await api("GET", "/sources/sealed")).text,
      (await api("GET", "/sources")).text,
      JSON.stringify(await platform.actors.get("webhooks-sources", "owner").call("newer", "")),
      lines.join("\n"),
    ];
    for (const text of texts)
      for (const secret of [FIRST, "a token to verify", "a secret of one"])
        expect(text).not.toContain(secret);
    expect(lines.join("\n")).toContain('"source":"sealed","change":"created"');
    // Both secrets of its entities hold.
    expect((await event("sealed", "a secret of one", inbound, "own")).status).toBe(200);
    expect((await event("sealed", FIRST, inbound, "own")).status).toBe(401);
  });

  it("loses its verify token and the secrets of its entities by null, and by nothing else", async () => {
    const secrets = { verifyToken: "a token to verify", entitySecrets: { own: "a secret of one" } };
    const given = { name: "bare", scheme: "meta", secret: FIRST, entity: { from: "path" } };
    expect(await statusOf("POST", "/sources", { ...given, ...secrets })).toBe(201);
    const { name: _, ...settings } = given;
    const ask = async (): Promise<number> => {
      const token = encodeURIComponent(secrets.verifyToken);
      const query = `hub.mode=subscribe&hub.challenge=1&hub.verify_token=${token}`;
      return (await inbound.fetch(new Request(`http://causey.test/bare/x?${query}`))).status;
    };
    expect([await statusOf("PUT", "/sources/bare", settings), await ask()]).toEqual([200, 200]);
    // A sender of this scheme asks for it.
    const none = { ...settings, verifyToken: null };
    expect(await statusOf("PUT", "/sources/bare", none)).toBe(400);
    const generic = { ...none, scheme: "generic" };
    expect(await statusOf("PUT", "/sources/bare", generic)).toBe(200);
    expect(await statusOf("PUT", "/sources/bare", settings)).toBe(400);
    const { entitySecrets } = secrets;
    for (const [more, own, shared] of [
      [{}, 200, 401],
      [{ entitySecrets: null }, 401, 200],
      [{}, 401, 200],
      [{ entitySecrets }, 200, 401],
    ] as const) {
      const body = { scheme: "generic", ...more };
      expect(await statusOf("PUT", "/sources/bare", body)).toBe(200);
      const own1 = (await event("bare", "a secret of one", inbound, "own")).status;
      const shared1 = (await event("bare", FIRST, inbound, "own")).status;
      expect([own1, shared1]).toEqual([own, shared]);
    }
  });

  it("is one of the account that receives, and of no other", async () => {
    const given = { name: "foreign", scheme: "generic", secret: FIRST };
    for (const [method, path, body] of [
      ["GET", "/sources", undefined],
      ["POST", "/sources", given],
      ["GET", "/sources/sealed", undefined],
      ["PUT", "/sources/sealed", { scheme: "generic" }],
      ["POST", "/sources/sealed/rotate", { secret: SECOND }],
      ["DELETE", "/sources/sealed", undefined],
    ] as const)
      expect([path, await statusOf(method, path, body, "stranger")]).toEqual([path, 404]);
    expect((await event("foreign", FIRST)).status).toBe(404);
  });

  it("receives and is rotated with a filter that an earlier version has stored", async () => {
    const forward = { filter: { plan: { $exists: "yes" } } };
    expect(await statusOf("POST", "/sources", { ...genericSource("old"), forward: true })).toBe(
      201,
    );
    const store = platform.actors.get("webhooks-sources", "owner");
    const { all } = (await store.call("newer", "")) as SourceList;
    const stored = all.find(({ name }) => name === "old");
    const settings = { ...stored?.settings, forward };
    const earlier = { ...stored, settings, revision: "earlier" } as StoredSource;
    expect(await store.call("replace", earlier, stored?.revision)).toBe(true);
    expect((await api("GET", "/sources/old")).result).toMatchObject({ error: null, settings });
    expect((await event("old", FIRST)).status).toBe(200);
    expect(await statusOf("POST", "/sources/old/rotate", { secret: SECOND })).toBe(200);
    expect((await event("old", SECOND)).status).toBe(200);
    expect(await statusOf("PUT", "/sources/old", { scheme: "generic", forward })).toBe(400);
    expect(await statusOf("PUT", "/sources/old", { scheme: "generic", forward: true })).toBe(200);
    expect(await statusOf("DELETE", "/sources/old")).toBe(200);
  });

  it("is refused where it cannot be right, or is another's", async () => {
    const good = { name: "good", scheme: "generic", secret: FIRST };
    for (const [body, status] of [
      [{ ...good, name: "a/b" }, 400],
      [{ ...good, secret: "short" }, 400],
      [{ name: "good", scheme: "generic" }, 400],
      [{ ...good, scheme: "nobody" }, 400],
      [{ ...good, answerSecond: 1 }, 400],
      [{ ...good, forward: { filter: { a: { $bad: 1 } } } }, 400],
      [{ ...good, forward: { filter: { "a..b": 1 } } }, 400],
      [{ ...good, group: "filed" }, 400],
      [{ ...good, formerNames: ["x".repeat(40_000)] }, 400],
      [{ ...good, secret: undefined, secrets: Array.from({ length: 11 }, secretOf) }, 400],
      [{ ...good, entitySecrets: { one: Array.from({ length: 11 }, secretOf) } }, 400],
      [{ ...good, entities: Array.from({ length: 5000 }, shortText) }, 201],
      [{ ...good, name: "second", formerNames: Array.from({ length: 5001 }, shortText) }, 400],
      [{ ...good, entity: { from: "payload", path: Array.from({ length: 21 }, shortText) } }, 400],
      [{ ...good, name: "filed" }, 409],
    ] as const)
      expect([body, await statusOf("POST", "/sources", body)]).toEqual([body, status]);
    expect(await statusOf("PUT", "/sources/good", { scheme: "generic" })).toBe(200);
    expect(await statusOf("POST", "/sources", good)).toBe(409);
    for (const [method, path, body] of [
      ["PUT", "/sources/filed", { scheme: "generic", secret: FIRST }],
      ["POST", "/sources/filed/rotate", { secret: SECOND }],
      ["DELETE", "/sources/filed", undefined],
    ] as const)
      expect([path, await statusOf(method, path, body)]).toEqual([path, 409]);
    expect((await event("filed", SECRET)).status).toBe(200);
    expect(await statusOf("PUT", "/sources/nobody", { scheme: "generic" })).toBe(404);
  });

  it("has entities of its own beside those of the configuration", async () => {
    await api("POST", "/sources", { name: "beside", scheme: "generic", secret: FIRST });
    expect((await event("filed", SECRET, inbound, "both")).entity).toBe("both");
    expect((await event("beside", FIRST, inbound, "both")).entity).toBe("beside:both");
    // Nobody takes the place of another by a name that looks like it.
    expect((await event("filed", SECRET, inbound, "beside:both")).entity).toBe("filed:beside:both");
    const read = (source: string): Promise<Answer> =>
      api("GET", `/events?entity=both&source=${source}`);
    expect((await read("beside")).result).toMatchObject([{ source: "beside" }]);
    expect((await read("filed")).result).toMatchObject([{ source: "filed" }]);
  });

  it("is read by another process, and by one whose file has it since", async () => {
    await api("POST", "/sources", { name: "moved", scheme: "generic", secret: FIRST });
    expect((await event("moved", FIRST, webhooks(options))).status).toBe(200);
    const filed = { ...options.sources, moved: { scheme: "generic", secret: SECOND } };
    const later = webhooks({ ...options, sources: filed });
    expect((await event("moved", SECOND, later)).status).toBe(200);
    expect((await event("moved", FIRST, later)).status).toBe(401);
  });

  it("answers 503 where its secrets can no longer be opened, and the others go on", async () => {
    const define: Platform["actors"]["define"] = (kind) => {
      if (kind.name !== "webhooks-outbound") platform.actors.define(kind);
    };
    const actors = { get: platform.actors.get.bind(platform.actors), define };
    const sealing = {
      ...options,
      platform: { ...platform, actors },
      masterSecret: "a master secret that gets lost",
    };
    const other = webhooksManagement(sealing);
    const body = JSON.stringify({ name: "lost", scheme: "generic", secret: FIRST });
    const made = await other.request("/accounts/owner/webhooks/sources", { method: "POST", body });
    expect(made.status).toBe(201);
    expect((await event("lost", FIRST, webhooks(sealing))).status).toBe(200);
    expect((await event("lost", FIRST)).status).toBe(503);
    expect((await event("good", FIRST)).status).toBe(200);
    expect((await api("GET", "/sources/lost")).result["error"]).toContain("cannot be opened");
    // A former one still opens it.
    const former = {
      ...sealing,
      masterSecret: "another",
      formerMasterSecrets: [sealing.masterSecret],
    };
    expect((await event("lost", FIRST, webhooks(former))).status).toBe(200);
  });

  it("is put together once for all events that come at the same moment", async () => {
    const lost = "A stored webhook source cannot receive";
    await api("POST", "/sources", { name: "crowd", scheme: "generic", secret: FIRST });
    const before = lines.filter((line) => line.includes(lost)).length;
    const crowd = Array.from({ length: 20 }, () => event("crowd", FIRST));
    for (const { status } of await Promise.all(crowd)) expect(status).toBe(200);
    expect(lines.filter((line) => line.includes(lost)).length - before).toBe(1);
  });

  it("is bounded before anything looks at each name in it", async () => {
    const entities = Array.from({ length: 9_000 }, () => "..");
    const { status, text } = await api("POST", "/sources", { ...genericSource("huge"), entities });
    expect([status, text]).toEqual([400, expect.stringContaining("at most 32768 characters")]);
  });

  it("waits for nothing that another request asks for: that one may have ended", async () => {
    await api("POST", "/sources", { name: "left", scheme: "generic", secret: FIRST });
    let asked = 0;
    const actors: Platform["actors"] = {
      define: (kind) => {
        platform.actors.define(kind);
      },
      get(kind, name) {
        const actor = platform.actors.get(kind, name);
        return {
          fetch: (request) => actor.fetch(request),
          call(method, ...args) {
            const isLost = method === "master" && (asked += 1) === 1;
            return isLost ? new Promise(() => undefined) : actor.call(method, ...args);
          },
        };
      },
    };
    const app = webhooks({ ...options, platform: { ...platform, actors } });
    void event("left", FIRST, app);
    await eventually(() => asked === 1, "the first one asks for the key");
    expect((await event("left", FIRST, app)).status).toBe(200);
  });

  it("that no longer fits beside those of the configuration leaves the others as they are", async () => {
    const names = Array.from({ length: 9 }, (_, n) => `fit${n}`);
    for (const name of names) {
      const claim = name === "fit4" ? { entities: ["claimed"] } : {};
      expect(await statusOf("POST", "/sources", { ...claim, ...genericSource(name) })).toBe(201);
    }
    const filed = { filed: { scheme: "generic", secret: SECRET, entities: ["claimed"] } } as const;
    const later = webhooks({ ...options, sources: filed });
    for (const name of names)
      expect([name, (await event(name, FIRST, later)).status]).toEqual([
        name,
        name === "fit4" ? 503 : 200,
      ]);
  });

  it("is one of at most 200", async () => {
    const fresh = await openPlatform();
    const app = webhooksManagement({ platform: fresh, auth: "off", sources: {} });
    const make = async (name: string): Promise<number> => {
      const body = JSON.stringify({ name, scheme: "generic", secret: FIRST });
      const made = await app.request("/accounts/local/webhooks/sources", { method: "POST", body });
      await made.body?.cancel();
      return made.status;
    };
    const store = fresh.actors.get("webhooks-sources", "local");
    const stored = { settings: { scheme: "generic" }, sealed: "", expiries: [], revision: "" };
    const times = { createdAt: 0, modifiedAt: 0, modifiedBy: "" };
    for (let n = 0; n < 199; n++)
      await store.call("create", { name: `s${n}`, ...stored, ...times });
    expect([await make("last"), await make("more")]).toEqual([201, 409]);
    await fresh.close();
  });
});

describe("a source of the configuration", () => {
  it("asks nobody for stored sources but at the start, and once a second", async () => {
    let asked = 0;
    const actors: Platform["actors"] = {
      define: (kind) => {
        platform.actors.define(kind);
      },
      get(kind, name) {
        const actor = platform.actors.get(kind, name);
        if (kind !== "webhooks-sources") return actor;
        return {
          ...actor,
          fetch: (request) => actor.fetch(request),
          call(method, ...args) {
            asked++;
            return actor.call(method, ...args);
          },
        };
      },
    };
    const now = 5;
    const system = { ...platform.system, monotonic: () => now };
    const app = webhooks({ ...options, platform: { ...platform, actors, system } });
    for (let n = 0; n < 5; n++) expect((await event("filed", SECRET, app)).status).toBe(200);
    expect(asked).toBe(2);
  });
});
