import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { platformApi } from "../../../core/api.ts";
import type { Platform } from "../../../core/ports.ts";

it("/metrics leaves out the figures of webhooks where they cannot be read, and the log says so", async () => {
  const real = await openPlatform();
  const lines: unknown[] = [];
  const actors: Platform["actors"] = {
    define: (kind) => {
      real.actors.define(kind);
    },
    get(kind, name) {
      const actor = real.actors.get(kind, name);
      const call: typeof actor.call = async (method, ...args) => {
        if (method === "topics") throw new Error("no such row");
        return actor.call(method, ...args);
      };
      return { ...actor, call, fetch: (request) => actor.fetch(request) };
    },
  };
  const api = platformApi({
    platform: { ...real, actors, log: (...line) => void lines.push(line) },
    auth: "off",
    metrics: true,
  });
  const response = await api.request("/metrics");
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toContain('causey_part_ready{part="database"} 1\n');
  expect(text).not.toContain("causey_webhook");
  const told = ["warn", "Figures are missing in /metrics", { error: "no such row" }];
  expect(lines).toContainEqual(told);
  await real.close();
});
