import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { instanceAt } from "../../core/search/actor/instance-client.ts";
import { uploadItem } from "../../core/search/routes/index-item.ts";
import { search } from "../../core/search/mod.ts";
import type { ActorContext, ActorKind, Platform, SqlRow } from "../../core/ports.ts";
import { LONG } from "../cases/eventually.ts";
import { seedInstance } from "../fakes/search-seed.ts";

/** The platform, whose actors hand on what queries find only after `heard` has seen it. */
function listening(
  platform: Platform,
  heard: (sql: string, rows: readonly SqlRow[]) => Promise<void>,
): Platform {
  const inside = (context: ActorContext): ActorContext => ({
    ...context,
    sql: {
      ...context.sql,
      async all(sql, params, options) {
        const rows = await context.sql.all(sql, params, options);
        await heard(sql, rows);
        return rows;
      },
    },
  });
  const kinds = new Map<ActorKind, ActorKind>();
  const kindOf = (kind: ActorKind): ActorKind => {
    const known = kinds.get(kind) ?? { ...kind, start: (context) => kind.start(inside(context)) };
    kinds.set(kind, known);
    return known;
  };
  const { actors } = platform;
  return {
    ...platform,
    actors: {
      get: (kind, name) => actors.get(kind, name),
      define: (kind) => actors.define(kindOf(kind)),
    },
  };
}

it(
  "an item that comes in when a training has made its last vectors gets its own",
  LONG,
  async () => {
    const platform = await openPlatform();
    const instance = instanceAt(platform, { account: "acme", namespace: "default", id: "main" });
    let isLast = false;
    const own = {
      platform: listening(platform, async (sql, rows) => {
        if (!isLast || rows.length > 0 || !sql.includes("NOT EXISTS")) return;
        isLast = false;
        const bytes = new TextEncoder().encode("a zebra that came late");
        await uploadItem(
          instance,
          { key: "late.md", bytes, contentType: "text/markdown", metadata: undefined },
          true,
          own,
        );
      }),
    };
    search(own);
    const documents = [{ key: "early.md", text: "bread and butter" }];
    await seedInstance(own, { account: "acme", id: "main", documents });
    isLast = true;
    await instance.train();
    expect(isLast).toBe(false);
    const { chunks: found } = await instance.search({
      query: "zebra",
      type: "vector",
      threshold: 0,
    });
    expect(found.map(({ item }) => item.key)).toContain("late.md");
    await platform.close();
  },
);
