import { expect, test } from "vitest";
import edge from "../fakes/memory-edge.ts";

test("the edge program of docs/memory.md answers", async () => {
  const ready = await edge.fetch(new Request("http://causey.test/readyz"));
  expect([ready.status, await ready.json()]).toEqual([
    200,
    expect.objectContaining({ status: "ready", runtime: "memory" }),
  ]);
  const refused = await edge.fetch(new Request("http://causey.test/v1/local/default/echo/x"));
  expect(refused.status).toBe(401);
});
