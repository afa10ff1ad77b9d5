import { createHmac } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { verifyToken, webhookSecrets } from "./prepare-target.ts";

const base = `${inject("baseUrl")}/webhooks`;
const hmac = (secret: string, text: string, form: "hex" | "base64" = "hex"): string =>
  createHmac("sha256", secret).update(text).digest(form);

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function ask(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${base}/${path}`, { method, ...init });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  ask("POST", path, { body, headers });

describe("a sender that tests its receiver by GET", () => {
  const subscribe = (token: string): string =>
    `hub.mode=subscribe&hub.challenge=c-1&hub.verify_token=${token}`;

  it("Meta and WhatsApp: the challenge, for the verify token alone", async () => {
    const { headers, status, text } = await ask("GET", `meta?${subscribe(verifyToken)}`);
    expect([status, text]).toEqual([200, "c-1"]);
    expect(headers.get("content-type")).toMatch(/^text\/plain/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect((await ask("GET", `meta?${subscribe("wrong")}`)).status).toBe(401);
    expect((await ask("GET", "meta?hub.mode=subscribe&hub.challenge=c-1")).status).toBe(401);
    const other = await ask("GET", "meta?hub.mode=other&hub.challenge=c-1");
    expect([other.status, other.headers.get("allow")]).toEqual([405, "GET, POST"]);
  });

  it("Strava: the challenge in JSON", async () => {
    const { status, text } = await ask("GET", `strava?${subscribe(verifyToken)}`);
    expect([status, JSON.parse(text)]).toEqual([200, { "hub.challenge": "c-1" }]);
    expect((await ask("GET", `strava?${subscribe("wrong")}`)).status).toBe(401);
  });

  it("X: the HMAC of its token", async () => {
    const { status, text } = await ask("GET", "x?crc_token=t-1&nonce=n");
    const response_token = `sha256=${hmac(webhookSecrets.x, "t-1", "base64")}`;
    expect([status, JSON.parse(text)]).toEqual([200, { response_token }]);
    expect((await ask("GET", "x")).status).toBe(405);
    expect((await ask("GET", `x?crc_token=${"t".repeat(5000)}`)).status).toBe(405);
  });

  it("Dropbox: the challenge", async () => {
    expect((await ask("GET", "dropbox?challenge=d-1")).text).toBe("d-1");
  });

  it("Slack: an empty 200 to ssl_check, which opens nothing else", async () => {
    expect(await ask("GET", "slack?ssl_check=1")).toMatchObject({ status: 200, text: "" });
    expect((await post("slack", "ssl_check=1&command=%2Fx&team_id=T1")).status).toBe(401);
  });
});

describe("a sender that tests its receiver by another method", () => {
  it("Trello and Intercom: HEAD", async () => {
    for (const source of ["trello", "intercom"])
      expect((await ask("HEAD", source)).status).toBe(200);
    expect((await ask("HEAD", "generic")).status).toBe(405);
  });

  it("CloudEvents: OPTIONS, with the origin that may send", async () => {
    const headers = { "webhook-request-origin": "events.example.com" };
    for (const path of ["cloudevents", "event-grid"]) {
      const { headers: answered, status } = await ask("OPTIONS", path, { headers });
      const allowed = answered.get("webhook-allowed-origin");
      expect([status, allowed]).toEqual([200, "events.example.com"]);
    }
    expect((await ask("OPTIONS", "cloudevents")).status).toBe(405);
    expect((await ask("OPTIONS", "generic", { headers })).status).toBe(405);
  });
});

describe("a sender that tests its receiver by an unsigned POST", () => {
  it("Microsoft Graph: the token as plain text", async () => {
    const { headers, status, text } = await ask("POST", "graph?validationToken=a%20b%3Cc%3E");
    expect([status, text]).toEqual([200, "a b<c>"]);
    expect(headers.get("content-type")).toMatch(/^text\/plain/);
  });

  it("Asana: its secret in the header", async () => {
    const { headers, status } = await post("asana/p1", "{}", { "x-hook-secret": "s-1" });
    expect([status, headers.get("x-hook-secret")]).toEqual([200, "s-1"]);
    expect((await post("asana/p1", "{}")).status).toBe(401);
  });

  it("Notion: an empty 200 to its token", async () => {
    const body = '{"verification_token":"secret_x"}';
    expect(await post("notion", body)).toMatchObject({ status: 200, text: "" });
    expect((await post("notion", '{"type":"page.created","workspace_id":"w"}')).status).toBe(401);
    const long = JSON.stringify({ verification_token: "x", more: "y".repeat(5000) });
    expect((await post("notion", long)).status).toBe(401);
  });
});

describe("a sender that signs its test", () => {
  const slack = (body: string): Promise<Answer> => {
    const time = String(Math.floor(Date.now() / 1000));
    const signature = `v0=${hmac(webhookSecrets.slack, `v0:${time}:${body}`)}`;
    return post("slack", body, {
      "content-type": body.startsWith("{")
        ? "application/json"
        : "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": time,
      "x-slack-signature": signature,
    });
  };

  it("Slack: url_verification and ssl_check", async () => {
    const { text } = await slack('{"type":"url_verification","challenge":"s-1"}');
    expect(JSON.parse(text)).toEqual({ challenge: "s-1" });
    expect(await slack("ssl_check=1&token=t")).toMatchObject({ status: 200, text: "" });
  });

  it("Zoom: the plain token and its HMAC", async () => {
    const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"p-2"}}';
    const time = String(Math.floor(Date.now() / 1000));
    const { text } = await post("zoom", body, {
      "x-zm-request-timestamp": time,
      "x-zm-signature": `v0=${hmac(webhookSecrets.zoom, `v0:${time}:${body}`)}`,
    });
    const encryptedToken = hmac(webhookSecrets.zoom, "p-2");
    expect(JSON.parse(text)).toEqual({ plainToken: "p-2", encryptedToken });
  });

  it("Twitch: the challenge as it is", async () => {
    const body = '{"challenge":"tw-1","subscription":{"type":"channel.follow"}}';
    const time = `${new Date().toISOString().slice(0, -1)}123456Z`;
    const headers = {
      "twitch-eventsub-message-id": "m-1",
      "twitch-eventsub-message-timestamp": time,
      "twitch-eventsub-message-type": "webhook_callback_verification",
      "twitch-eventsub-message-signature": `sha256=${hmac(webhookSecrets.twitch, `m-1${time}${body}`)}`,
    };
    expect(await post("twitch", body, headers)).toMatchObject({ status: 200, text: "tw-1" });
    expect((await post("twitch", `${body} `, headers)).status).toBe(401);
    const old = {
      ...headers,
      "twitch-eventsub-message-timestamp": "2020-01-01T00:00:00.123456789Z",
    };
    expect((await post("twitch", body, old)).status).toBe(401);
  });

  it("Event Grid: the code of the subscription, for the token of the address alone", async () => {
    const event = { id: "1", eventType: "x", data: { validationCode: "v-1" } };
    const headers = { "aeg-event-type": "SubscriptionValidation" };
    const body = JSON.stringify([event]);
    const { status, text } = await post(`event-grid?token=${webhookSecrets.token}`, body, headers);
    expect([status, JSON.parse(text)]).toEqual([200, { validationResponse: "v-1" }]);
    expect((await post("event-grid?token=wrong-token-of-an-address", body, headers)).status).toBe(
      401,
    );
  });
});

describe("a sender that shows that it is there", () => {
  it("Asana: a signed list of no events, which is no event", async () => {
    const asana = (body: string): Promise<Answer> =>
      post("asana/p2", body, { "x-hook-signature": hmac(webhookSecrets.asana, body) });
    expect(await asana('{"events":[]}')).toMatchObject({ status: 200, text: "" });
    const event = '{"events":[{"action":"changed","resource":{"resource_type":"task"}}]}';
    expect(JSON.parse((await asana(event)).text)).toMatchObject({ result: { entity: "p2" } });
    const wrong = { "x-hook-signature": "0".repeat(64) };
    expect((await post("asana/p2", '{"events":[]}', wrong)).status).toBe(401);
  });
});

describe("events of senders that test their receiver", () => {
  const results = async (answer: Promise<Answer>): Promise<unknown> =>
    (JSON.parse((await answer).text) as { result: unknown }).result;

  it("Meta, X, Notion and Linear are stored by their signature", async () => {
    const meta =
      '{"object":"whatsapp_business_account","entry":[{"id":"7001","changes":[{"field":"messages"}]}]}';
    const signature = { "x-hub-signature-256": `sha256=${hmac(webhookSecrets.meta, meta)}` };
    expect(await results(post("meta", meta, signature))).toMatchObject({ entity: "7001" });
    const x = '{"for_user_id":"7002"}';
    const base64 = `sha256=${hmac(webhookSecrets.x, x, "base64")}`;
    const ofX = post("x", x, { "x-twitter-webhooks-signature": base64 });
    expect(await results(ofX)).toMatchObject({ entity: "7002" });
    const notion = '{"id":"n-1","type":"page.created","workspace_id":"w-1"}';
    const ofNotion = `sha256=${hmac(webhookSecrets.notion, notion)}`;
    const stored = results(post("notion", notion, { "x-notion-signature": ofNotion }));
    expect(await stored).toMatchObject({ id: "n-1", entity: "w-1" });
    const linear = JSON.stringify({
      type: "Issue",
      organizationId: "o-1",
      webhookTimestamp: Date.now(),
    });
    const ofLinear = {
      "linear-signature": hmac(webhookSecrets.linear, linear),
      "linear-delivery": "l-1",
    };
    expect((await post("linear", linear, ofLinear)).status).toBe(200);
  });

  it("Trello by body and address", async () => {
    const body = '{"action":{"id":"a-1","type":"updateCard"},"model":{"id":"b-1"}}';
    const sign = (url: string): string =>
      createHmac("sha1", webhookSecrets.trello)
        .update(body + url)
        .digest("base64");
    const ok = post("trello", body, { "x-trello-webhook": sign(`${base}/trello`) });
    expect(await results(ok)).toMatchObject({ id: "a-1", entity: "b-1" });
    const other = { "x-trello-webhook": sign(`${base}/other`) };
    expect((await post("trello", body, other)).status).toBe(401);
  });

  it("Microsoft Graph by the state of every subscription, each notification on its own", async () => {
    const one = (id: string, clientState: string): object => ({
      id,
      clientState,
      subscriptionId: `s-${id}`,
    });
    const { token } = webhookSecrets;
    const both = JSON.stringify({ value: [one("1", token), one("2", token)] });
    expect(await results(post("graph", both))).toMatchObject({
      events: [
        { id: "1", entity: "s-1" },
        { id: "2", entity: "s-2" },
      ],
    });
    const mixed = JSON.stringify({
      value: [one("3", token), one("4", "another state of a stranger")],
    });
    expect((await post("graph", mixed)).status).toBe(401);
  });

  it("CloudEvents by a token in the header or in the address", async () => {
    const body = '{"id":"c-1","source":"ce-source","type":"t"}';
    const header = { authorization: `Bearer ${webhookSecrets.token}` };
    expect(await results(post("cloudevents", body, header))).toMatchObject({ status: "processed" });
    const address = `cloudevents?access_token=${webhookSecrets.token}`;
    expect(await results(post(address, body))).toMatchObject({ status: "duplicate" });
    expect((await post("cloudevents?access_token=wrong-token", body)).status).toBe(401);
  });
});

describe("the answer of a source", () => {
  it("is the one in the file, such as TwiML", async () => {
    const body = "AccountSid=AC9&CallSid=CA9&CallStatus=ringing";
    const url = `${base}/twilio-fixed`;
    const signed = `${url}AccountSidAC9CallSidCA9CallStatusringing`;
    const { headers, status, text } = await post("twilio-fixed", body, {
      "content-type": "application/x-www-form-urlencoded",
      "x-twilio-signature": createHmac("sha1", webhookSecrets.twilio)
        .update(signed)
        .digest("base64"),
    });
    expect([status, text]).toEqual([200, "<Response><Reject/></Response>"]);
    expect(headers.get("content-type")).toBe("text/xml");
  });
});
