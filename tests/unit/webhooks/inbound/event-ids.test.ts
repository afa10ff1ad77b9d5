import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";
import {
  defineScheme,
  schemes,
  signLike,
  webhooks,
  type Scheme,
} from "../../../../core/webhooks/mod.ts";
import { githubRequest, SECRET } from "../../../fakes/webhooks-sender.ts";

const secret = SECRET;
/** SendGrid's fields under a signature that a test can make with a plain secret. */
const sendgrid = defineScheme({
  ...schemes.sendgrid,
  algorithm: "hmac-sha-256",
  secretForm: "text",
});
const zoomLike = defineScheme({ ...schemes.zoom, signature: ["header:x-zm-signature"] });

const seen: string[] = [];
const counter = defineAgent({
  name: "batch-counter",
  onEvent(_, event) {
    seen.push(event.id);
  },
});

let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  app.route(
    "/webhooks",
    webhooks({
      platform,
      sources: {
        twilio: { scheme: "twilio", secret },
        sendgrid: { scheme: sendgrid, secret },
        hubspot: { scheme: "hubspot", secret },
        counted: { scheme: "hubspot", secret, agent: "batch-counter" },
        zoom: { scheme: zoomLike, secret },
        slack: { scheme: "slack", secret },
        shopify: { scheme: "shopify", secret },
        gitlab: { scheme: "gitlab", secret },
        github: { scheme: "github", secret },
        strays: { scheme: "github", secret, fallbackEntity: "unrouted" },
      },
    }),
  );
  app.route("/agents", agents({ platform, auth: "off", agents: [counter] }));
});
afterAll(() => platform.close());

interface Answer {
  readonly status: number;
  readonly result: {
    readonly id: string;
    readonly entity: string;
    readonly status: string;
    readonly events?: readonly { readonly id: string; entity: string; status: string }[];
  };
  readonly message: string;
}

const post = async (...sent: Parameters<typeof deliver>): Promise<Answer> =>
  answerOf(await deliver(...sent));

async function deliver(
  path: string,
  scheme: Scheme,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const isForm = body instanceof URLSearchParams;
  const bytes = utf8(isForm ? body.toString() : JSON.stringify(body));
  const url = `http://causey.test/webhooks/${path}`;
  const contentType = isForm ? "application/x-www-form-urlencoded" : "application/json";
  const now = platform.system.now();
  const request = { method: "POST", url, body: bytes, contentType, id: "unused", now };
  const signed = await signLike(scheme, secret, request);
  signed.set("content-type", contentType);
  for (const [name, value] of Object.entries(headers)) signed.set(name, value);
  return app.fetch(new Request(url, { method: "POST", body: bytes, headers: signed }));
}

async function answerOf(response: Response): Promise<Answer> {
  const { errors, result } = (await response.json()) as {
    errors: { message: string }[];
    result: Answer["result"];
  };
  return { status: response.status, result, message: errors[0]?.message ?? "" };
}

async function idsOf(entity: string): Promise<string[]> {
  const events = (await platform.actors
    .get("agent:webhook-agent", entity)
    .call("getEvents", 1000)) as EventRecord[];
  return events.map(({ id }) => id);
}

describe("Twilio", () => {
  const status = (sid: string, value: string): URLSearchParams =>
    new URLSearchParams({ AccountSid: "AC1", MessageSid: sid, MessageStatus: value });

  it("each status update of a message is an event, a repetition of one is not; each gets empty TwiML", async () => {
    for (const value of ["sent", "delivered", "read", "sent"]) {
      const answer = await deliver("twilio", schemes.twilio, status("SM1", value));
      const type = answer.headers.get("content-type");
      expect([answer.status, type, await answer.text()]).toEqual([200, "text/xml", "<Response/>"]);
    }
    expect(await idsOf("ac1")).toEqual(["SM1:read", "SM1:delivered", "SM1:sent"]);
  });

  it("the steps of a call are told apart by their sequence number, or by Twilio's token", async () => {
    const call = (more: Record<string, string>): URLSearchParams =>
      new URLSearchParams({
        AccountSid: "AC2",
        CallSid: "CA1",
        CallStatus: "in-progress",
        ...more,
      });
    await deliver("twilio", schemes.twilio, call({ SequenceNumber: "1" }));
    await deliver("twilio", schemes.twilio, call({ SequenceNumber: "2" }));
    const token = { "i-twilio-idempotency-token": "t-1" };
    await deliver("twilio", schemes.twilio, call({ Digits: "1" }), token);
    expect(await idsOf("ac2")).toHaveLength(3);
    await deliver("twilio", schemes.twilio, call({ Digits: "1" }), token);
    expect(await idsOf("ac2")).toHaveLength(3);
    await deliver("twilio", schemes.twilio, call({ Digits: "1" }), {
      "i-twilio-idempotency-token": "t-2",
    });
    expect(await idsOf("ac2")).toHaveLength(4);
  });
});

describe("a body that is a list of events", () => {
  it("SendGrid: stores each, and drops none of another batch that begins with a known one", async () => {
    const event = (id: string): object => ({
      sg_event_id: id,
      event: "open",
      email: "a@example.test",
    });
    const first = await post("sendgrid/mail", sendgrid, [event("a"), event("b")]);
    expect(first.status).toBe(200);
    expect(first.result.events).toEqual([
      { id: "a", entity: "mail", status: "processed" },
      { id: "b", entity: "mail", status: "processed" },
    ]);
    const second = await post("sendgrid/mail", sendgrid, [event("a"), event("c")]);
    expect(second.result.events?.map(({ status }) => status)).toEqual(["duplicate", "processed"]);
    expect(await idsOf("mail")).toEqual(["c", "b", "a"]);
  });

  it("SendGrid: events without an id are told apart by what they say", async () => {
    const body = [
      { event: "processed", timestamp: 1 },
      { event: "processed", timestamp: 2 },
    ];
    await post("sendgrid/no-ids", sendgrid, body);
    await post("sendgrid/no-ids", sendgrid, body);
    expect(await idsOf("no-ids")).toHaveLength(2);
  });

  it("HubSpot: each event reaches the entity of its own portal, whichever attempt brings it", async () => {
    const event = (portalId: number, objectId: number, attemptNumber = 0): object => ({
      eventId: 1,
      subscriptionId: 7,
      occurredAt: 1_700_000_000_000,
      subscriptionType: "contact.creation",
      portalId,
      objectId,
      attemptNumber,
    });
    const body = [event(11, 1), event(12, 1), event(11, 2)];
    expect((await post("hubspot", schemes.hubspot, body)).status).toBe(200);
    const again = await post("hubspot", schemes.hubspot, [event(11, 1, 1), event(11, 3)]);
    expect(again.result.events?.map(({ status }) => status)).toEqual(["duplicate", "processed"]);
    expect(await idsOf("11")).toHaveLength(3);
    expect(await idsOf("12")).toHaveLength(1);
  });

  it("keeps the others when one names no entity or another than the path, and says why", async () => {
    const event = (portalId?: number, eventId = 5): object => ({ eventId, portalId });
    const some = await post("hubspot", schemes.hubspot, [event(), event(21), event()]);
    const error = "The payload names no entity: it has no portalId";
    expect([some.status, some.result.events]).toEqual([
      200,
      [
        { status: "refused", error },
        expect.objectContaining({ entity: "21", status: "processed" }),
        { status: "refused", error },
      ],
    ]);
    const elsewhere = await post("hubspot/21", schemes.hubspot, [event(22), event(21, 6)]);
    expect(elsewhere.result.events?.map(({ status }) => status)).toEqual(["refused", "processed"]);
    expect(await idsOf("21")).toHaveLength(2);
    expect(await idsOf("22")).toEqual([]);
  });

  it("is refused when none of its events can be placed, and when it is empty", async () => {
    const missing = await post("hubspot", schemes.hubspot, [{ eventId: 5 }, { eventId: 6 }]);
    const message = "[0]: The payload names no entity: it has no portalId";
    expect([missing.status, missing.message]).toEqual([400, message]);
    expect((await post("hubspot", schemes.hubspot, [])).status).toBe(400);
  });

  it("is refused with 413 beyond 5,000 events", async () => {
    const list = Array.from({ length: 5001 }, (_, n) => ({ sg_event_id: `e${n}` }));
    expect((await post("sendgrid/many", sendgrid, list)).status).toBe(413);
  });

  it("has every event handled", async () => {
    const body = Array.from({ length: 120 }, (_, n) => ({
      eventId: n,
      subscriptionId: 1,
      occurredAt: 1,
      portalId: 31,
    }));
    const answer = await post("counted", schemes.hubspot, body);
    expect([200, 202]).toContain(answer.status);
    while (seen.length < 120) await platform.system.sleep(5);
    expect(new Set(seen).size).toBe(120);
  });
});

describe("the id of an event", () => {
  it("Zoom: is what it says, because Zoom sends none", async () => {
    const event = (event_ts: number): object => ({
      event: "meeting.started",
      event_ts,
      payload: { account_id: "Z1" },
    });
    await post("zoom", zoomLike, event(1));
    await post("zoom", zoomLike, event(2));
    expect((await post("zoom", zoomLike, event(1))).result.status).toBe("duplicate");
    expect(await idsOf("z1")).toHaveLength(2);
  });

  it("Shopify: webhooks of two topics share their event's id", async () => {
    const headers = (topic: string): Record<string, string> => ({
      "x-shopify-event-id": "e-1",
      "x-shopify-topic": topic,
    });
    await post("shopify/shop", schemes.shopify, { id: 1 }, headers("orders/create"));
    await post("shopify/shop", schemes.shopify, { id: 1 }, headers("orders/paid"));
    const again = await post("shopify/shop", schemes.shopify, { id: 1 }, headers("orders/paid"));
    expect(again.result.status).toBe("duplicate");
    expect(await idsOf("shop")).toEqual(["e-1:orders/paid", "e-1:orders/create"]);
  });

  it("GitLab: a webhook that another one caused has the same event UUID and another body", async () => {
    const project = { path_with_namespace: "Group/Project" };
    const headers = { "x-gitlab-event-uuid": "u-1" };
    await post("gitlab", schemes.gitlab, { project, n: 1 }, headers);
    await post("gitlab", schemes.gitlab, { project, n: 2 }, headers);
    await post("gitlab", schemes.gitlab, { project, n: 2 }, headers);
    expect(await idsOf("group-project")).toHaveLength(2);
  });
});

describe("the entity of an event", () => {
  it("Slack: interactivity is a form whose payload names the team as team.id, and gets an empty answer", async () => {
    const submit = async (value: object): Promise<Response> =>
      deliver(
        "slack",
        schemes.slack,
        new URLSearchParams({ payload: JSON.stringify({ type: "view_submission", ...value }) }),
      );
    for (const id of ["1", "1"]) {
      const answer = await submit({ team: { id: "T1" }, trigger_id: id });
      expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
        200,
        null,
        "",
      ]);
    }
    expect(await idsOf("t1")).toEqual(["1"]);
    await submit({ team: null, enterprise: { id: "E1" }, trigger_id: "2" });
    expect(await idsOf("e1")).toEqual(["2"]);
    const event = { type: "event_callback", team_id: "T1", event_id: "Ev1" };
    expect((await post("slack", schemes.slack, event)).result.id).toBe("Ev1");
  });

  it.each([
    [{ organization: { login: "Octo" } }, "octo"],
    [{ action: "created", installation: { account: { login: "Octo-User" } } }, "octo-user"],
    [{ enterprise: { slug: "Big" } }, "big"],
    [{ organization: { login: "Octo" }, repository: { full_name: "Octo/Hello" } }, "octo-hello"],
  ])("GitHub: %j reaches %s", async (payload, entity) => {
    const request = await githubRequest("/webhooks/github", payload, `g-${entity}`);
    expect((await answerOf(await app.fetch(request))).result.entity).toBe(entity);
  });

  it("is the source's fallbackEntity where the payload names none, and 400 without one", async () => {
    const body = { action: "published", security_advisory: {} };
    const send = async (path: string, id: string): Promise<Answer> =>
      answerOf(await app.fetch(await githubRequest(path, body, id)));
    expect((await send("/webhooks/github", "f-1")).status).toBe(400);
    expect((await send("/webhooks/strays", "f-1")).result.entity).toBe("unrouted");
    expect((await send("/webhooks/strays/unrouted", "f-2")).status).toBe(200);
    expect((await send("/webhooks/strays/other", "f-3")).status).toBe(400);
  });
});
