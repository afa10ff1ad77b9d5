// The tests of docs/memory.md: what stands between two marks is shown there.
// shown: vitest
import { platformApi } from "causey";
import { memoryPlatform } from "causey/memory";
import { expect, test } from "vitest";

test("a webhook is sent to whoever asked for its type", async () => {
  const sent: string[] = [];
  const platform = await memoryPlatform({
    // Nothing leaves the process: this answers in place of the outside.
    fetch: async (request) => {
      sent.push(`${request.method} ${request.url} ${await request.text()}`);
      return new Response(null, { status: 204 });
    },
  });
  const app = platformApi({ platform, auth: "off" });
  const post = (path: string, body: unknown) =>
    app.request(`/client/v4/accounts/local/webhooks${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  await post("/endpoints", { url: "https://shop.example/hooks", types: ["order.paid"] });
  await post("/send", { type: "order.paid", payload: { id: 7 } });
  await expect.poll(() => sent).toEqual(['POST https://shop.example/hooks {"id":7}']);

  await platform.close();
});
// end
