import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import type { ActorRef, Actors } from "../../../../core/ports.ts";
import { gatewayUnderTest } from "../../../fakes/gateway-app.ts";

it("does not list a gateway whose deletion overtook its listing", async () => {
  const real = await openPlatform();
  let beforePut: (() => Promise<unknown>) | null = null;
  const get = (kind: string, name: string): ActorRef => {
    const actor = real.actors.get(kind, name);
    const call: ActorRef["call"] = async (method, ...args) => {
      const [overtaking, isPut] = [beforePut, kind === "gateway-account" && method === "put"];
      if (isPut && overtaking !== null) {
        beforePut = null;
        await overtaking();
      }
      return actor.call(method, ...args);
    };
    return Object.create(actor, { call: { value: call } }) as ActorRef;
  };
  const actors = Object.create(real.actors, { get: { value: get } }) as Actors;
  const gate = await gatewayUnderTest({}, { ...real, actors });
  beforePut = () => gate.manage("/gateways/late", { method: "DELETE" });
  await gate.create("late");
  expect(beforePut).toBeNull();
  expect((await gate.manage("/gateways/late")).status).toBe(404);
  expect((await gate.manage("/gateways?search=late")).body.result).toEqual([]);
  await gate.close();
});
