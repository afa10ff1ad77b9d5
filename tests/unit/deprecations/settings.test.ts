import { openPlatform } from "#platform";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { platformApi } from "../../../core/api.ts";
import { liveSettings } from "../../../core/deprecations/settings/live-settings.ts";
import {
  defineDeprecation,
  deprecations,
  deprecationsMiddleware,
  deprecationTable,
  type EntrySettings,
  withDeprecations,
} from "../../../core/deprecations/mod.ts";

const ALL = "token-for-all-accounts-0001";
const ONE = "token-for-one-account-00001";
const tokens = [
  { token: ALL, permissions: ["Deprecations Edit" as const], accounts: ["*"] },
  { token: ONE, permissions: ["*" as const], accounts: ["local"] },
];
const root = "/client/v4/deprecations/settings";
const minify = "/client/v4/zones/z/settings/minify";

type Ask = (method: string, path: string, body?: unknown, token?: string) => Promise<Response>;

function asker(api: Pick<Hono, "request">): Ask {
  return async (method, path, body, token = ALL) =>
    api.request(path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

describe("settings of deprecations", () => {
  it("hold at once in every process, are stored, and leave an audit line", async () => {
    const real = await openPlatform();
    const lines: unknown[] = [];
    const platform = {
      ...real,
      log: (_level: string, message: string, fields = {}) => {
        if (message.startsWith("Settings of a")) lines.push(fields);
      },
    };
    const ask = asker(platformApi({ platform, tokens }));
    // A second process has its own copy of the settings, and the same actor.
    const second = liveSettings(platform, deprecationTable, {});
    const there = new Hono();
    there.use("*", deprecationsMiddleware({ platform, settings: second.present }));
    there.route("/client/v4", deprecations({ platform, settings: second.present }));
    const other = asker(there);
    const status = async (): Promise<number[]> => [
      (await ask("PATCH", minify)).status,
      (await other("PATCH", minify)).status,
    ];
    expect(await status()).toEqual([410, 410]);
    const put = await ask("PUT", `${root}/setting-minify`, { pause: true });
    expect(put.status).toBe(200);
    expect(await status()).toEqual([404, 404]);
    expect((await other("PATCH", minify)).headers.get("deprecation")).toBe("@1722816000");
    const { result } = (await (await ask("GET", root)).json()) as { result: unknown };
    expect(result).toMatchObject([{ id: "setting-minify", settings: { pause: true } }]);
    const shown = await other("GET", "/client/v4/deprecations/setting-minify.01");
    expect(((await shown.json()) as { result: unknown }).result).toMatchObject({
      phase: "deprecated",
      enforce_from: null,
    });
    expect((await ask("PUT", `${root}/setting-minify`, { mode: "off" })).status).toBe(200);
    expect((await other("PATCH", minify)).headers.has("deprecation")).toBe(false);
    expect((await ask("DELETE", `${root}/setting-minify`)).status).toBe(200);
    expect(await status()).toEqual([410, 410]);
    expect((await ask("DELETE", `${root}/setting-minify`)).status).toBe(404);
    expect(lines).toMatchObject([
      { id: "setting-minify", settings: '{"pause":true}', by: expect.any(String) as string },
      { settings: '{"mode":"off"}' },
      { settings: "null" },
    ]);
    await real.close();
  });

  it("end writes first, and lie above those of the file", async () => {
    const platform = await openPlatform();
    const settings = { "setting-minify": { end: "2030-01-01" } };
    const ask = asker(platformApi({ platform, tokens, deprecations: { settings } }));
    expect((await ask("GET", minify)).status).toBe(404);
    await ask("PUT", `${root}/setting-minify`, { end: "2025-01-01", reads: "after" });
    expect([(await ask("GET", minify)).status, (await ask("PATCH", minify)).status]).toEqual([
      404, 410,
    ]);
    await platform.close();
  });

  it("need the permission on all accounts, and must be right", async () => {
    const platform = await openPlatform();
    const ask = asker(platformApi({ platform, tokens }));
    const body: EntrySettings = { pause: true };
    expect((await ask("PUT", `${root}/setting-minify`, body, ONE)).status).toBe(403);
    expect((await ask("GET", root, undefined, ONE)).status).toBe(403);
    expect((await ask("DELETE", `${root}/setting-minify`, undefined, ONE)).status).toBe(403);
    const refused = async (id: string, given: unknown): Promise<string> => {
      const response = await ask("PUT", `${root}/${id}`, given);
      return `${response.status} ${await response.text()}`;
    };
    expect(await refused("setting-minfy", body)).toMatch(/^404 .*did you mean/);
    expect(await refused("setting-minify", { extend: "2020-01-01" })).toMatch(/^400 .*not later/);
    expect(await refused("setting-minify", { end: "soon" })).toMatch(/^400 .*expected a day/);
    expect(await refused("setting-minify", { pasue: true })).toMatch(/^400 /);
    const brownouts = Array.from({ length: 51 }, (_, minute) => ({
      start: new Date(Date.UTC(2020, 0, 1, 0, minute)).toISOString(),
      end: new Date(Date.UTC(2020, 0, 1, 0, minute, 30)).toISOString(),
    }));
    expect(await refused("setting-minify", { brownouts })).toMatch(/^400 .*50/);
    expect(await refused("setting-minify", { brownouts: brownouts.slice(1) })).toMatch(/^200 /);
    await platform.close();
  });

  it("of a file that cannot be right end the start", async () => {
    const platform = await openPlatform();
    const settings = { "setting-minfy": { pause: true } };
    expect(() => platformApi({ platform, tokens, deprecations: { settings } })).toThrow(
      "did you mean",
    );
    await platform.close();
  });

  it("may be a function of a host's own, asked at each request that the table concerns", async () => {
    let settings: Record<string, EntrySettings> = {};
    const orders = defineDeprecation({
      id: "orders-v1",
      on: "* /orders",
      since: "2026-01-01",
      sunset: "2026-07-01",
    });
    const app = new Hono();
    app.use(
      "*",
      deprecationsMiddleware({
        entries: [orders],
        basePath: "",
        clock: "2026-08-01",
        settings: () => settings,
      }),
    );
    app.all("/orders", (c) => c.text("here"));
    const statuses = async (): Promise<number[]> => [
      (await app.request("/orders")).status,
      (await app.request("/orders", { method: "POST" })).status,
    ];
    expect(await statuses()).toEqual([410, 410]);
    settings = { "orders-v1": { reads: "after" } };
    expect(await statuses()).toEqual([200, 410]);
    settings = { "orders-v1": { mode: "off" } };
    expect(await statuses()).toEqual([200, 200]);
    settings = { "orders-v1": { end: "never" } };
    expect(await statuses()).toEqual([200, 200]);
    settings = { "orders-v1": { extend: "2026-09-01" } };
    expect(await statuses()).toEqual([200, 200]);
  });

  it("stay while they cannot be read, but a request without any fails", async () => {
    let settings: Record<string, EntrySettings> | null = null;
    const real = await openPlatform();
    const lines: string[] = [];
    const orders = defineDeprecation({
      id: "orders-v1",
      on: "GET /orders",
      since: "2026-01-01",
      sunset: "2026-07-01",
    });
    const handle = withDeprecations({
      entries: [orders],
      basePath: "",
      clock: "2026-08-01",
      settings: async () => settings ?? (await Promise.reject(new Error("no database"))),
      platform: { ...real, log: (_, message) => void lines.push(message) },
    });
    const ask = async (): Promise<number> => {
      const host = (): Promise<Response> => Promise.resolve(new Response("here"));
      return (await handle(new Request("http://x/orders"), host)).status;
    };
    await expect(ask()).rejects.toThrow("no database");
    settings = { "orders-v1": { pause: true } };
    expect(await ask()).toBe(200);
    settings = null;
    expect([await ask(), await ask()]).toEqual([200, 200]);
    const failures = (): number =>
      lines.filter((line) => line.includes("those before stay")).length;
    expect(failures()).toBe(1);
    settings = { "orders-v1": { pause: true } };
    await ask();
    settings = null;
    await ask();
    expect(failures()).toBe(2);
    await real.close();
  });
});
