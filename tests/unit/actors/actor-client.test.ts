import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { actorClient } from "../../../core/actors/actor-client.ts";
import type { ActorKind } from "../../../core/ports.ts";

interface SumMethods {
  add(a: number, b: number): number;
  name(): Promise<string>;
}

const kind: ActorKind = {
  name: "client-suite",
  schema: [],
  start: ({ name }) => {
    const methods: SumMethods & Record<string, (...args: never[]) => unknown> = {
      add: (a: number, b: number) => a + b,
      name: () => Promise.resolve(name),
    };
    return { methods };
  },
};

it("actorClient() calls the methods of the map, and may itself be awaited", async () => {
  const platform = await openPlatform();
  platform.actors.define(kind);
  const client = await Promise.resolve(
    actorClient<SumMethods>(platform.actors.get(kind.name, "one")),
  );
  expect([await client.add(1, 2), await client.name()]).toEqual([3, "one"]);
  const placed = Object.assign(client, { place: "here" });
  expect([placed.place, await placed.name()]).toEqual(["here", "one"]);
  await platform.close();
});
