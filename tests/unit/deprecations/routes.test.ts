import { openPlatform } from "#platform";
import { platformApi } from "causey";
import { describe, expect, it } from "vitest";
import { deprecations, deprecationTable, shadowedRoutes } from "../../../core/deprecations/mod.ts";
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
