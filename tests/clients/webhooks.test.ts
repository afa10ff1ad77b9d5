import { sign } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { describe, expect, inject, it } from "vitest";
import { webhookSecrets } from "../http/prepare-target.ts";

const baseUrl = inject("baseUrl");
const authorization = `Bearer ${inject("token")}`;
const api = `${baseUrl}/client/v4/accounts/${inject("accountId")}/webhooks`;

async function post(path: string, body: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${baseUrl}${path}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  await response.body?.cancel();
  return response.status;
}

async function idsOf(entity: string): Promise<string[]> {
  const response = await fetch(`${api}/events?entity=${encodeURIComponent(entity)}`, {
    headers: { authorization },
  });
  const { result } = (await response.json()) as { result: { id: string }[] };
  return result.map(({ id }) => id);
}

describe("senders", () => {
  it("@octokit/webhooks-methods", async () => {
    const body = JSON.stringify({ repository: { full_name: "Octo/Sender" } });
    const headers = { "x-github-event": "push", "x-github-delivery": "octokit-1" };
    const signature = await sign(webhookSecrets.github, body);
    expect(
      await post("/webhooks/github", body, { ...headers, "x-hub-signature-256": signature }),
    ).toBe(200);
    expect(
      await post("/webhooks/github", `${body} `, { ...headers, "x-hub-signature-256": signature }),
    ).toBe(401);
    expect(await idsOf("octo-sender")).toEqual(["octokit-1"]);
  });

  it("stripe, also in the middle of a rotation of its secret", async () => {
    const payload = JSON.stringify({ id: "evt_1", type: "charge.succeeded" });
    const secret = webhookSecrets.stripe;
    const header = await Stripe.webhooks.generateTestHeaderStringAsync({ payload, secret });
    expect(await post("/webhooks/stripe/acct_1", payload, { "stripe-signature": header })).toBe(
      200,
    );
    const other = await Stripe.webhooks.generateTestHeaderStringAsync({
      payload,
      secret: "whsec_another_secret",
    });
    const [, v1 = ""] = other.split(",");
    const [t = "", good = ""] = header.split(",");
    for (const both of [`${t},${v1},${good}`, `${t},${good},${v1}`]) {
      expect(await post("/webhooks/stripe/acct_1", payload, { "stripe-signature": both })).toBe(
        200,
      );
    }
    expect(await post("/webhooks/stripe/acct_1", payload, { "stripe-signature": other })).toBe(401);
    const timestamp = Math.floor(Date.now() / 1000) - 600;
    const old = await Stripe.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp });
    expect(await post("/webhooks/stripe/acct_1", payload, { "stripe-signature": old })).toBe(401);
    expect(await idsOf("acct_1")).toEqual(["evt_1"]);
  });

  it("standardwebhooks", async () => {
    const body = JSON.stringify({ type: "user.created", data: {} });
    const now = new Date();
    const signature = new Webhook(webhookSecrets.standard).sign("msg_1", now, body);
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": signature,
    };
    expect(await post("/webhooks/standard/std-entity", body, headers)).toBe(200);
    expect(await post("/webhooks/standard/std-entity", body, headers)).toBe(200);
    expect(
      await post("/webhooks/standard/std-entity", body, { ...headers, "webhook-id": "msg_2" }),
    ).toBe(401);
    expect(await idsOf("std-entity")).toEqual(["msg_1"]);
  });
});
