import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import { toHex } from "../../../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../../../core/crypto/hmac.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks } from "../../../../core/webhooks/mod.ts";
import { SECRET as secret } from "../../../fakes/webhooks-sender.ts";

let platform: Platform;

describe("an entity with secrets of its own", () => {
  const own = new Hono();
  const other = "another secret for tests";
  const sign = async (path: string, body: unknown, secretText: string): Promise<Request> => {
    const text = JSON.stringify(body);
    const signature = toHex(await hmacSign(await hmacKey(secretText), text));
    const headers = { "x-signature": `sha256=${signature}` };
    return new Request(`http://causey.test/webhooks${path}`, {
      method: "POST",
      body: text,
      headers,
    });
  };
  beforeAll(async () => {
    platform = await openPlatform();
    own.route("/agents", agents({ platform, auth: "off", agents: [] }));
    const entity = { from: "payload", path: "entity" } as const;
    const old = { secret: "an expired secret", expiresAt: "2020-01-01T00:00:00Z" };
    const entitySecrets = { mine: [other, old] };
    own.route(
      "/webhooks",
      webhooks({
        platform,
        auth: "off",
        sources: {
          both: { scheme: "generic", secret, entity, entitySecrets, group: "g" },
          only: { scheme: "generic", entitySecrets: { mine: other }, group: "g" },
          named: {
            scheme: "generic",
            secret,
            entity: { from: "header", name: "x-team" },
            group: "g",
            entitySecrets,
          },
        },
      }),
    );
  });
  afterAll(() => platform.close());
  const status = async (path: string, body: unknown, text: string): Promise<number> =>
    (await own.fetch(await sign(path, body, text))).status;

  it("is bound by its secret: the path counts, whatever the body says", async () => {
    expect(await status("/both/mine", { entity: "theirs" }, other)).toBe(200);
    expect(await status("/both/mine", {}, other)).toBe(200);
    expect(await status("/both/mine", {}, "an expired secret")).toBe(401);
  });

  it("is closed to the source's secret on every route, and its secret opens no other entity", async () => {
    expect(await status("/both/mine", { entity: "mine" }, secret)).toBe(401);
    expect(await status("/both", { entity: "mine" }, secret)).toBe(401);
    expect(await status("/both", { entity: "Mine" }, secret)).toBe(401);
    expect(await status("/both/theirs", { entity: "theirs" }, other)).toBe(401);
    expect(await status("/both/theirs", { entity: "theirs" }, secret)).toBe(200);
    expect(await status("/only/theirs", {}, other)).toBe(401);
    expect(await status("/only/mine", {}, other)).toBe(200);
  });

  it("is named by a header as well, where the source says so", async () => {
    const request = await sign("/named", {}, other);
    request.headers.set("x-team", "mine");
    expect((await own.fetch(request)).status).toBe(200);
    const shared = await sign("/named", {}, secret);
    shared.headers.set("x-team", "mine");
    expect((await own.fetch(shared)).status).toBe(401);
  });
});
