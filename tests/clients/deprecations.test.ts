import Cloudflare from "cloudflare";
import Cloudflare3 from "cloudflare-3";
import { describe, expect, inject, it } from "vitest";
import { deprecationTable } from "../../core/deprecations/mod.ts";

const baseURL = `${inject("baseUrl")}/client/v4`;
const apiToken = inject("token");
const account_id = inject("accountId");

/** What both versions make of an error answer. */
interface SdkError {
  readonly status: number;
  readonly message: string;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
}

/** Makes a call with an SDK whose HTTP calls are counted; retries stay as the SDK has them by default. */
async function callOnce<Client>(
  open: (fetch: typeof globalThis.fetch) => Client,
  call: (client: Client) => Promise<unknown>,
): Promise<{ error: SdkError; calls: number }> {
  let calls = 0;
  const counted: typeof globalThis.fetch = (input, init) => {
    calls++;
    return fetch(input, init);
  };
  const error: unknown = await call(open(counted)).catch((thrown: unknown) => thrown);
  return { error: error as SdkError, calls };
}

const version3 = (fetch: typeof globalThis.fetch): Cloudflare3 =>
  new Cloudflare3({ apiToken, baseURL, fetch: fetch as never });
const version7 = (fetch: typeof globalThis.fetch): Cloudflare =>
  new Cloudflare({ apiToken, baseURL, fetch });

describe("cloudflare 3.0.0", () => {
  it("decodes the 410 of a retired zone setting after exactly one call", async () => {
    const { error, calls } = await callOnce(version3, (client) =>
      client.zones.settings.minify.get({ zone_id: "0123" }),
    );
    expect([error.status, calls]).toEqual([410, 1]);
    expect(error.errors[0]).toMatchObject({
      code: 10410,
      message: expect.stringContaining("no replacement") as string,
    });
  });

  it("is told the replacement in the error's message", async () => {
    const bots = await callOnce(version3, (client) => client.radar.verifiedBots.top.bots());
    expect([bots.error.status, bots.calls]).toEqual([410, 1]);
    expect(bots.error.errors[0]?.message).toContain("Use GET /radar/bots/summary/bot");
    const rules = await callOnce(version3, (client) => client.firewall.rules.list("0123"));
    expect(rules.error.errors[0]?.message).toContain(
      "Use GET /zones/{zone_id}/rulesets/phases/http_request_firewall_custom/entrypoint (client.rulesets.phases.get)",
    );
  });
});

describe("cloudflare 7.3.0", () => {
  it("has each call that a refusal names, at the path that it names", async () => {
    const calls = new Map(
      deprecationTable.flatMap(({ calls: named = [] }) => named.map((one) => [one.client, one])),
    );
    expect(calls.size).toBeGreaterThan(20);
    for (const { client: name, method, path } of calls.values()) {
      let asked = "";
      const client = version7((input, init) => {
        const url = new URL(input instanceof Request ? input.url : input);
        asked = `${init?.method?.toUpperCase()} ${url.pathname.slice("/client/v4".length)}`;
        return Promise.resolve(Response.json({ result: [], result_info: {} }));
      });
      let at: unknown = client;
      let own: unknown;
      for (const part of name.split(".")) [own, at] = [at, (at as Record<string, unknown>)[part]];
      const [first, ...rest] = path.split("/").filter((part) => part.startsWith("{"));
      const owner = path.startsWith("/zones") ? "zone_id" : "account_id";
      const ids = { [owner]: first, ruleset_id: first };
      const phase = path.includes("/phases/") ? [path.split("/")[5]] : [];
      const last = name.startsWith("rulesets.rules.create") ? ["{ruleset_id}"] : rest.slice(-1);
      const args = name === "post" ? [path] : [...(phase.length > 0 ? phase : last), ids];
      await (at as (...given: unknown[]) => Promise<unknown>).call(own, ...args);
      const plain = (text: string): string =>
        decodeURIComponent(text).replaceAll(/\{\w+\}/gu, "{}");
      expect(plain(asked), name).toBe(plain(`${method} ${path}`));
    }
  });

  it("decodes the 410 after exactly one call", async () => {
    const { error, calls } = await callOnce(version7, (client) =>
      client.firewall.rules.get("4567", { zone_id: "0123" }),
    );
    expect(error).toBeInstanceOf(Cloudflare.APIError);
    expect([error.status, calls]).toEqual([410, 1]);
    expect(error.errors[0]?.message).toContain(
      "GET /zones/{zone_id}/firewall/rules/{rule_id} was retired on 2025-06-15",
    );
  });

  it("is told the replacement in the error's message", async () => {
    const { error } = await callOnce(version7, (client) =>
      client.zeroTrust.devices.get("device", { account_id }),
    );
    expect([error.status, error.errors[0]?.message]).toEqual([
      410,
      expect.stringContaining("GET /accounts/{account_id}/devices/physical-devices/{device_id}"),
    ]);
  });
});
