import { openPlatform } from "#platform";
import { Hono } from "hono";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { apiDescription } from "../../../core/openapi/mod.ts";
import type { PlatformApiOptions } from "../../../core/config/platform-api-options.ts";
import type { Platform } from "../../../core/ports.ts";

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

async function open(options: Partial<PlatformApiOptions> = {}): Promise<PlatformApi> {
  const platform = await openPlatform();
  opened.push(platform);
  return platformApi({ platform, openApi: apiDescription, ...options });
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, unknown>>;
}

const ask = async (app: Hono, path = "/openapi.json"): Promise<Document> => {
  const response = await app.request(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  return (await response.json()) as Document;
};

describe("/openapi.json", () => {
  it("describes the API to everybody", async () => {
    const document = await ask(await open());
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: "/" }]);
    expect(Object.keys(document.paths).length).toBeGreaterThan(100);
  });

  it("says where the API is, also below a prefix", async () => {
    const behind = await open({ mountPath: "/$&/x" });
    expect((await ask(behind)).servers).toEqual([{ url: "/$&/x" }]);
    const host = new Hono().route("/inner", await open());
    expect((await ask(host, "/inner/openapi.json")).servers).toEqual([{ url: "/inner" }]);
  });

  it("is sent once to who keeps it, and compressed", async () => {
    const app = await open();
    const first = await app.request("/openapi.json", { headers: { "accept-encoding": "gzip" } });
    expect(first.headers.get("content-encoding")).toBe("gzip");
    expect((await first.arrayBuffer()).byteLength).toBeLessThan(36_000);
    const etag = first.headers.get("etag") ?? "";
    const again = await app.request("/openapi.json", { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
  });

  it("is not there unless it is wanted", async () => {
    const app = await open({ openApi: undefined });
    expect((await app.request("/openapi.json")).status).toBe(404);
    expect((await app.request("/docs")).status).toBe(404);
  });
});

describe("/docs", () => {
  it("is a page without a script that asks nobody for anything", async () => {
    const response = await (await open()).request("/docs");
    const text = await response.text();
    expect(text).toMatch(/^<!doctype html>/);
    expect(text).not.toMatch(/<script|<link[^>]*https?:|\bsrc=|@import/);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    // The policy names the very style of the page.
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? "";
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
    const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
    expect(policy).toContain(`style-src 'sha256-${hash}'`);
  });

  it("shows every operation of the description", async () => {
    const app = await open();
    const { paths } = await ask(app);
    const shown = Object.values(paths).flatMap((item) => Object.keys(Object(item)));
    const text = await (await app.request("/docs")).text();
    expect(text.match(/<details>/g)).toHaveLength(shown.length);
  });

  it("is sent once to who keeps it, and compressed", async () => {
    const app = await open();
    const first = await app.request("/docs", { headers: { "accept-encoding": "gzip" } });
    expect(first.headers.get("content-encoding")).toBe("gzip");
    expect((await first.arrayBuffer()).byteLength).toBeLessThan(36_000);
    const etag = first.headers.get("etag") ?? "";
    const again = await app.request("/docs", { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
  });
});
