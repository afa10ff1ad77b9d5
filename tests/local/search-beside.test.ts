import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { search } from "../../core/search/mod.ts";
import type { ActorContext, ActorKind, Actors, Platform } from "../../core/ports.ts";
import { LONG } from "../cases/eventually.ts";

/** The platform, with a list of whose long queries its actors ran. */
function recording(platform: Platform, owners: string[]): Platform {
  const heard = (context: ActorContext): ActorContext => ({
    ...context,
    sql: {
      ...context.sql,
      all(sql, params, options) {
        if (sql.includes(" MATCH ")) owners.push(options?.long ?? "at once");
        return context.sql.all(sql, params, options);
      },
    },
  });
  // The same object each time: another one of the same name would be an error.
  const kinds = new Map<ActorKind, ActorKind>();
  const heardKind = (kind: ActorKind): ActorKind => {
    const known = kinds.get(kind) ?? { ...kind, start: (context) => kind.start(heard(context)) };
    kinds.set(kind, known);
    return known;
  };
  const actors: Actors = {
    get: (kind, name) => platform.actors.get(kind, name),
    define: (kind) => platform.actors.define(heardKind(kind)),
  };
  return { ...platform, actors };
}

it(
  "keywords are looked up beside the event loop in large instances, at once in small ones",
  LONG,
  async () => {
    const platform = await openPlatform();
    const owners: string[] = [];
    const app = search({ platform: recording(platform, owners), auth: "off" });
    const call = async (path: string, body: object): Promise<string> => {
      const headers = { "content-type": "application/json" };
      const root = "http://test/accounts/a/ai-search/instances";
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await app.request(`${root}${path}`, init);
      const text = await response.text();
      expect(response.status, text).toBeLessThan(300);
      return text;
    };
    const upload = async (name: string, sections: number): Promise<void> => {
      const text = Array.from({ length: sections }, (_, n) => `# Part ${n}\n\nzebra ${n}`).join(
        "\n\n",
      );
      const form = new FormData();
      form.set("file", new File([text], name));
      form.set("wait_for_completion", "true");
      const encoded = new Response(form);
      const headers = { "content-type": encoded.headers.get("content-type") ?? "" };
      const path = "http://test/accounts/a/ai-search/instances/main/items";
      const body = await encoded.arrayBuffer();
      expect((await app.request(path, { method: "POST", headers, body })).status).toBeLessThan(300);
    };
    await call("", { id: "main", index_method: { keyword: true, vector: false } });
    await upload("small.md", 10);
    expect(await call("/main/search", { query: "zebra" })).toContain("small.md");
    expect(new Set(owners)).toEqual(new Set(["at once"]));
    for (let n = 0; n < 4; n++) await upload(`large-${n}.md`, 600);
    owners.length = 0;
    // A number that the small file does not have.
    expect(await call("/main/search", { query: "zebra 300" })).toContain("large-");
    expect(new Set(owners)).toEqual(new Set(["a/default/main"]));
    await platform.close();
  },
);
