import Cloudflare from "cloudflare";
import Cloudflare3 from "cloudflare-3";
import { describe, expect, inject, it } from "vitest";

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
    expect(bots.error.errors[0]?.message).toContain("use GET /radar/bots/summary/bot");
    const rules = await callOnce(version3, (client) => client.firewall.rules.list("0123"));
    expect(rules.error.errors[0]?.message).toContain(
      "Custom rules of the web application firewall",
    );
  });
});

describe("cloudflare 7.3.0", () => {
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
