import { openPlatform } from "#platform";
import { platformApi, type PlatformApi, type PlatformApiOptions } from "causey";
import { Hono } from "hono";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../core/config/parse-config.ts";
import type { Platform } from "../../../core/ports.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { schemes, signLike } from "../../../core/webhooks/mod.ts";

const SECRET = "the secret of a webhook source";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

function api(mountPath?: string): PlatformApi {
  const options: PlatformApiOptions = {
    platform,
    accountId: "acme",
    auth: "off",
    webhooks: { sources: { square: { scheme: "square", secret: SECRET } } },
    deprecations: { clock: "2026-06-01" },
  };
  return platformApi(mountPath === undefined ? options : { ...options, mountPath });
}

/** Ways to put an API below a path, each with the address at which clients find it. */
const hosts: readonly (readonly [string, string, () => Pick<Hono, "request">])[] = [
  ["the host itself", "", () => api()],
  ["app.route()", "/platform", () => new Hono().route("/platform", api())],
  ["app.route() at a parameter", "/t/a%20b", () => new Hono().route("/t/:tenant", api())],
  ["app.mount()", "/platform", () => new Hono().mount("/platform", api("/platform").fetch)],
  [
    "app.route() below app.mount()",
    "/a/b",
    () => new Hono().mount("/a", new Hono().route("/b", api("/a")).fetch),
  ],
];

describe.each(hosts)("an API below %s (%s)", (_, path, open) => {
  const base = `http://localhost${path}`;

  it("tells addresses of gateways that lead back to it", async () => {
    const app = open();
    const management = `${base}/client/v4/accounts/acme/ai-gateway/gateways/default/url`;
    for (const [provider, tail] of [
      ["openai", "/openai"],
      ["universal", ""],
    ] as const) {
      const response = await app.request(`${management}/${provider}`);
      expect(await response.json()).toMatchObject({ result: `${base}/v1/acme/default${tail}` });
    }
    const asked = await app.request(`${base}/v1/acme/default/echo/chat/completions`);
    expect(asked.status).not.toBe(404);
  });

  it("links to its own table and routes", async () => {
    const app = open();
    const root = `${path}/client/v4`;
    const gone = await app.request(`${base}/client/v4/zones/z1/settings/minify`);
    expect(gone.status).toBe(410);
    expect(await gone.json()).toMatchObject({
      errors: [{ documentation_url: `${root}/deprecations#setting-minify.01` }],
    });
    const upload = await app.request(`${base}/client/v4/accounts/a/images/v1/direct_upload`, {
      method: "POST",
    });
    expect(upload.headers.get("link")).toContain(
      `<${root}/accounts/a/images/v2/direct_upload>; rel="successor-version"`,
    );
    const table = await app.request(`${base}/client/v4/deprecations`);
    const { result } = (await table.json()) as { result: { documentation_url: string }[] };
    expect(result[0]?.documentation_url).toMatch(`${root}/deprecations#`);
  });

  it("verifies webhooks whose signature covers the address", async () => {
    const url = `${base}/webhooks/square/m-1`;
    const body = '{"merchant_id":"m-1","event_id":"e","type":"t"}';
    const headers = await signLike(schemes.square, SECRET, {
      method: "POST",
      url,
      body: utf8(body),
      contentType: "application/json",
      id: "1",
      now: Date.now(),
    });
    const app = open();
    const response = await app.request(url, { method: "POST", body, headers });
    expect(response.status).toBe(200);
    const elsewhere = `${base}/webhooks/square/m-2`;
    expect((await app.request(elsewhere, { method: "POST", body, headers })).status).toBe(401);
  });
});

describe("mountPath", () => {
  it.each(["platform", "/", "/platform/", "/a//b", "/a b", "/a>;", "/a?b", "/a#b", "/a\nb"])(
    "refuses %j by name",
    (path) => {
      expect(() => api(path)).toThrow('mountPath: expected a path such as "/platform"');
    },
  );

  it("is a key of the configuration file, for proxies that take the path off", () => {
    const noEnv = (): undefined => undefined;
    expect(parseConfig({ mountPath: "/platform" }, noEnv)).toEqual({ mountPath: "/platform" });
    expect(() => parseConfig({ mountPath: "/platform/" }, noEnv)).toThrow("mountPath");
  });
});
