import { expect, it } from "vitest";
import { openPlatform } from "#platform";
import { searchParts } from "../../../core/search/mod.ts";
import { describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";

await describeOnPostgres("search on PostgreSQL", () => {
  it("finds by vectors, and says why it has no keywords", async () => {
    const platform = await openPlatform({ database: await freshDatabase() });
    const { routes } = searchParts({ platform, auth: "off", accountId: "acme" });
    const ask = async (path: string, body: unknown) => {
      const isForm = body instanceof FormData;
      const response = await routes.fetch(
        new Request(`http://test/accounts/acme/ai-search${path}`, {
          method: "POST",
          body: isForm ? body : JSON.stringify(body),
          ...(isForm ? {} : { headers: { "content-type": "application/json" } }),
        }),
      );
      return { status: response.status, text: await response.text() };
    };
    try {
      const hybrid = await ask("/instances", { id: "hybrid" });
      expect(hybrid).toEqual({ status: 400, text: expect.stringContaining("index_method") });
      const index_method = { vector: true, keyword: false };
      expect((await ask("/instances", { id: "main", index_method })).status).toBe(200);
      const form = new FormData();
      form.set(
        "file",
        new File(["Cats sleep on warm roofs."], "cats.md", { type: "text/markdown" }),
      );
      form.set("wait_for_completion", "true");
      expect((await ask("/instances/main/items", form)).status).toBeLessThan(300);
      const found = await ask("/instances/main/search", { query: "warm roofs" });
      expect(found).toEqual({ status: 200, text: expect.stringContaining("Cats sleep") });
    } finally {
      await platform.close();
    }
  });
});
