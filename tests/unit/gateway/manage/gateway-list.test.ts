import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type GatewayUnderTest,
  gatewayUnderTest,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await gatewayUnderTest();
});
afterAll(() => gateway.close());

it("lists gateways as they are when they are made, changed and deleted at the same moment", async () => {
  const json = (method: string, body: object): RequestInit => ({
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const ids = Array.from({ length: 20 }, (_, n) => `pair-${n}`);
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      ids.flatMap((id) => [
        gateway.manage("/gateways", json("POST", { id, ...requiredSettings })),
        gateway.manage(`/gateways/${id}`, { method: "DELETE" }),
        gateway.manage(`/gateways/${id}`, json("PUT", { ...requiredSettings, cache_ttl: 60 })),
        gateway.manage("/gateways", json("POST", { id, ...requiredSettings })),
      ]),
    );
    const there = await Promise.all(
      ids.map(async (id) => ((await gateway.manage(`/gateways/${id}`)).status === 200 ? [id] : [])),
    );
    const { body } = await gateway.manage("/gateways?search=pair-&per_page=100");
    const listed = (body.result as readonly { readonly id: string }[]).map(({ id }) => id);
    expect(listed, `round ${round}`).toEqual(there.flat().toSorted());
  }
});
