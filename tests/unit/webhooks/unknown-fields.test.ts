import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../core/agents/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import { webhooksManagement } from "../../../core/webhooks/mod.ts";
import { receiver } from "../../fakes/webhooks-receiver.ts";

let platform: Platform;
let app: Hono;
let portal = "";
let endpoint = "";

const WEBHOOKS = "/accounts/owner/webhooks";
const SECRET = "a secret of the sender";

beforeAll(async () => {
  platform = await openPlatform();
  const egress = receiver();
  app = webhooksManagement({
    platform: { ...platform, egress },
    auth: "off",
    accountId: "owner",
    sources: {},
  });
  app.route("/agents", agents({ platform, auth: "off" }));
  endpoint = idIn(await call("POST", `${WEBHOOKS}/endpoints`, { url: "https://a.test/x" }));
  await call("POST", `${WEBHOOKS}/applications`, { id: "app" });
  await call("POST", `${WEBHOOKS}/sources`, { name: "src", scheme: "generic", secret: SECRET });
  const link = await call("POST", `${WEBHOOKS}/applications/app/portal`, {});
  portal = (JSON.parse(link) as { result: { token: string } }).result.token;
});
afterAll(() => platform.close());

function idIn(answer: string): string {
  return (JSON.parse(answer) as { result: { id: string } }).result.id;
}

async function call(method: string, path: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${portal}` };
  const init = { method, headers, body: JSON.stringify(body) };
  return (await app.fetch(new Request(`http://causey.test${path}`, init))).text();
}

describe("a field that a route of webhooks does not know", () => {
  it("is told, whether it is misspelt or nobody's", async () => {
    const delivery = await call("POST", `${WEBHOOKS}/endpoints/${endpoint}/test`, {});
    expect(delivery).toContain('"messages":[]');
    const lists = `${WEBHOOKS}/deliveries?endpoint_id=${endpoint}`;
    const listed = await (await app.fetch(new Request(`http://causey.test${lists}`))).text();
    const [first] = (JSON.parse(listed) as { result: { id: string }[] }).result;
    const id = first?.id ?? "";
    const source = { scheme: "generic", secret: SECRET };
    const own = "/webhook-portal";
    for (const [method, path, body, field] of [
      ["POST", `${WEBHOOKS}/applications`, { id: "other" }, "nmae"],
      ["PATCH", `${WEBHOOKS}/applications/app`, {}, "max_endpoint"],
      ["POST", `${WEBHOOKS}/applications/app/portal`, {}, "read_onyl"],
      ["POST", `${WEBHOOKS}/endpoints`, { url: "https://a.test/y" }, "tpyes"],
      ["PATCH", `${WEBHOOKS}/endpoints/${endpoint}`, {}, "tpyes"],
      ["POST", `${WEBHOOKS}/endpoints/${endpoint}/rotate`, {}, "grace_second"],
      ["POST", `${WEBHOOKS}/endpoints/${endpoint}/test`, {}, "payload"],
      ["POST", `${WEBHOOKS}/send`, { type: "t", payload: 1 }, "entiy"],
      ["POST", `${WEBHOOKS}/deliveries/replay`, {}, "sttus"],
      ["POST", `${WEBHOOKS}/deliveries/${id}/replay`, {}, "endpoint_id"],
      ["POST", `${WEBHOOKS}/sources`, { name: "more", ...source }, "answerSecond"],
      ["PUT", `${WEBHOOKS}/sources/src`, source, "answerSecond"],
      ["POST", `${WEBHOOKS}/sources/src/rotate`, { secret: SECRET }, "grace_second"],
      ["POST", `${WEBHOOKS}/replays`, { of: "events" }, "sorce"],
      ["POST", `${WEBHOOKS}/applications/app/endpoints`, { url: "https://a.test/y" }, "tpyes"],
      ["POST", `${WEBHOOKS}/applications/app/send`, { type: "t", payload: 1 }, "entiy"],
      ["POST", `${own}/endpoints`, { url: "https://a.test/y" }, "tpyes"],
      ["POST", `${own}/deliveries/replay`, {}, "sttus"],
      ["POST", "/agents/webhook-agent/x/ticket", {}, "ttl_second"],
    ] as const)
      for (const name of [field, "somebody_else"]) {
        const answer = await call(method, path, { ...body, [name]: 1 });
        expect([path, answer]).toEqual([path, expect.stringMatching(`Unknown field \\\\"${name}`)]);
      }
  });
});
