import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await gatewayUnderTest();
});
afterAll(() => gateway.close());

const retries = { "cf-aig-max-attempts": "3", "cf-aig-retry-delay": "1" };

it("a body that streams through is sent once: there is no second copy of it", async () => {
  gateway.transport.requests.length = 0;
  gateway.transport.behave = () => jsonReply({ error: "busy" }, 503);
  const upload = new Blob([new Uint8Array(2 * 1024 * 1024)], { type: "audio/wav" });
  const answer = await gateway.send("open/openai/v1/audio/transcriptions", {
    method: "POST",
    headers: { ...retries, "content-type": "audio/wav" },
    body: upload,
  });
  expect(answer.status).toBe(503);
  expect(gateway.transport.requests).toHaveLength(1);
  expect(gateway.transport.requests[0]?.body).toBeInstanceOf(ReadableStream);
});
