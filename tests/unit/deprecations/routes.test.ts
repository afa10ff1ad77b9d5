import { openPlatform } from "#platform";
import { platformApi } from "causey";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import {
  defineDeprecation,
  deprecations,
  deprecationTable,
  shadowedRoutes,
} from "../../../core/deprecations/mod.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

interface Listed {
  readonly result: readonly {
    readonly id: string;
    readonly phase: string;
    readonly enforce_from: string | null;
  }[];
}

describe("GET /deprecations", () => {
  const at = async (clock: string): Promise<Listed["result"]> => {
    const app = deprecations({ platform: fakePlatform({ now: 0 }), clock });
    return ((await (await app.request("/deprecations")).json()) as Listed).result;
  };

  it("lists every entry with its phase at the pinned clock", async () => {
    const list = await at("2025-06-01");
    expect(list).toHaveLength(144);
    const phaseOf = (id: string): string | undefined =>
      list.find((entry) => entry.id === id)?.phase;
    expect(phaseOf("setting-minify.01")).toBe("retired");
    expect(phaseOf("radar-attacks-top.01")).toBe("deprecated");
    expect(phaseOf("firewall-rules.01")).toBe("upcoming");
    expect(list.find((entry) => entry.id === "billing.01")?.enforce_from).toBe(
      "2023-06-06T00:00:00Z",
    );
  });

  const listing = deprecations({ platform: fakePlatform({ now: 0 }), clock: "2025-06-01" });
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(listing.request(path, { headers }));

  it("lists one phase, and says which there are", async () => {
    const { result } = (await (await get("/deprecations?phase=upcoming")).json()) as Listed;
    expect(new Set(result.map(({ phase }) => phase))).toEqual(new Set(["upcoming"]));
    const wrong = await get("/deprecations?phase=retird");
    expect([wrong.status, await wrong.text()]).toEqual([
      400,
      expect.stringContaining('did you mean \\"retired\\"'),
    ]);
  });

  it("refuses in a host without a platform, too", async () => {
    const app = new Hono().route("/", deprecations({ basePath: "" }));
    expect((await app.request("/deprecations?phase=retird")).status).toBe(400);
    expect((await app.request("/deprecations/no-such-entry")).status).toBe(404);
  });

  it("refuses a parameter without effect, by name, value and what there is", async () => {
    const refused = {
      "?date=soon": 'Unknown parameter \\"date\\" with the value \\"soon\\": it takes phase',
      "?phse=retired": 'with the value \\"retired\\": did you mean \\"phase\\"?',
      "?phase=": 'expected one of upcoming, deprecated, brownout, retired, got \\"\\"',
      "?phase=retired&phase=upcoming": "retired, got 2 of them",
      "/setting-minify.01?phase=retired": 'with the value \\"retired\\": this route takes none',
      [`?x=${"y".repeat(9999)}`]: `with the value \\"${"y".repeat(64)}\\":`,
    };
    for (const [query, message] of Object.entries(refused)) {
      const wrong = await get(`/deprecations${query}`);
      expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining(message)]);
    }
  });

  it("has an address for each entry", async () => {
    const one = await get("/deprecations/setting-minify.01");
    expect(await one.json()).toMatchObject({ success: true, result: { id: "setting-minify.01" } });
    const wrong = await get("/deprecations/setting-minfy.01");
    expect([wrong.status, await wrong.text()]).toEqual([
      404,
      expect.stringContaining('did you mean \\"setting-minify.01\\"'),
    ]);
  });

  it("is a page for a browser, with an anchor for each entry and nothing of others in it", async () => {
    const evil = defineDeprecation({
      id: 'x"><script>',
      on: "GET /a",
      since: "2025-01-01",
      rule: "<b>&",
    });
    const own = deprecations({ clock: "2025-06-01", entries: [...deprecationTable, evil] });
    const response = await own.request("/deprecations", { headers: { accept: "text/html,*/*" } });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const page = await response.text();
    expect(page.match(/<section id="/gu)).toHaveLength(145);
    expect(page).toContain('<section id="dns-list-filters.01">');
    expect(page).toContain("<p>retired, deprecated on 2024-08-05, ended on 2024-08-05</p>");
    expect(page).toContain("<p>deprecated, deprecated on 2025-03-20, ends on 2025-09-20</p>");
    expect(page.match(/<span id="2025-02-21"><\/span>/gu)).toHaveLength(1);
    expect(page).not.toContain("<script>");
    expect(page).toContain("<p>&lt;b&gt;&amp;</p>");
  });

  it.each([
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"],
    ["text/html;q=0.8, application/json;q=0.5", "text/html"],
    ["application/json, text/html;q=0.9", "application/json"],
    ["text/html;q=0, */*", "application/json"],
    ["text/html;q=0.5, */*", "application/json"],
    ["text/html;q=much", "application/json"],
    ["*/*", "application/json"],
  ])("answers Accept: %s with %s", async (accept, type) => {
    const response = await get("/deprecations", { accept });
    expect(response.headers.get("content-type")).toContain(type);
  });

  it("is sent once, compressed", async () => {
    const first = await get("/deprecations");
    const etag = first.headers.get("etag") ?? "";
    expect((await get("/deprecations", { "if-none-match": etag })).status).toBe(304);
    const other = await get("/deprecations?phase=retired", { "if-none-match": etag });
    expect(other.status).toBe(200);
    const packed = await get("/deprecations", { "accept-encoding": "gzip" });
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(packed.headers.get("vary")).toBe("accept, accept-encoding");
    for (const [encoding, expected] of Object.entries({ "gzip;q=0, *": null, "*;q=0.1": "gzip" })) {
      const answer = await get("/deprecations", { "accept-encoding": encoding });
      expect(answer.headers.get("content-encoding")).toBe(expected);
    }
  });

  it("is public and answers other methods with 405", async () => {
    const app = deprecations({ platform: fakePlatform({ now: 0 }) });
    const response = await app.request("/deprecations", { method: "POST" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("the platform's own routes", () => {
  it("are hidden by no template", async () => {
    const platform = await openPlatform();
    const { routes } = platformApi({ platform });
    const api = routes
      .filter(({ method, path }) => method !== "ALL" && path.startsWith("/client/v4/"))
      .map(({ method, path }) => ({ method, path: path.slice("/client/v4".length) }));
    expect(api.length).toBeGreaterThan(20);
    expect(shadowedRoutes(deprecationTable, api)).toEqual([]);
    await platform.close();
  });
});
