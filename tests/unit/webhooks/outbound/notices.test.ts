import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { Platform } from "../../../../core/ports.ts";
import { clockedOutbound, type ClockedOutbound } from "../../../fakes/webhooks-clock.ts";
import { receiver, type Receiver } from "../../../fakes/webhooks-receiver.ts";

const DAY = 86_400_000;
const OPS = "https://ops.test/alerts";

let platform: Platform;
let egress: Receiver;
let outbound: ClockedOutbound;

beforeAll(async () => {
  platform = await openPlatform();
  egress = receiver();
  outbound = clockedOutbound(platform, egress, "noticed");
  await endpoint(OPS, { types: ["webhook.*"] });
});
afterAll(() => platform.close());

async function endpoint(url: string, more: object): Promise<string> {
  const { result } = await outbound.api<{ id: string }>("POST", "/endpoints", { url, ...more });
  return result.id;
}

interface Notice {
  readonly type: string;
  /** Missing from messages of the account. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The notices about an endpoint. */
const about = (id: string): Notice[] =>
  egress.received
    .filter(({ url }) => url === OPS)
    .map(({ body }) => JSON.parse(body) as Notice)
    .filter(({ data }) => data?.["endpoint_id"] === id);

const sendOne = (type: string): Promise<unknown> =>
  outbound.api("POST", "/send", { type, payload: {} });

describe("notices", () => {
  it("say once that an endpoint is failing, and again after a success", async () => {
    const url = "https://receiver.test/failing";
    egress.answer(url, 500);
    const id = await endpoint(url, { types: ["failing"] });
    for (let i = 0; i < 7; i++) await sendOne("failing");
    for (let i = 0; i < 3; i++) await outbound.advance(DAY / 12);
    const failing = about(id).filter(({ type }) => type === "webhook.endpoint.failing");
    expect(failing).toHaveLength(1);
    expect(failing[0]?.data).toMatchObject({ url, failures: 5 });
    const until = Date.parse(String(failing[0]?.data?.["paused_until"]));
    expect(until).toBeGreaterThan(Date.parse("2020-01-01"));
    egress.answer(url, 200);
    await outbound.advance(DAY);
    egress.answer(url, 500);
    for (let i = 0; i < 6; i++) await sendOne("failing");
    await outbound.advance(DAY / 24);
    await outbound.advance(1);
    const types = about(id).filter(({ type }) => type === "webhook.endpoint.failing");
    expect(types).toHaveLength(2);
  });

  it("name a delivery that was given up, and its message", async () => {
    const url = "https://receiver.test/given-up";
    egress.answer(url, 503);
    const id = await endpoint(url, { types: ["lost"], retry_delays_seconds: [1] });
    await sendOne("lost");
    await outbound.advance(1);
    await outbound.advance(2000);
    await outbound.advance(1);
    expect(about(id)).toMatchObject([
      {
        type: "webhook.delivery.exhausted",
        data: { message_type: "lost", url, attempts: 2, last_status: 503 },
      },
    ]);
  });

  it("make no other notices when they are given up themselves", async () => {
    const url = "https://receiver.test/deaf-ops";
    egress.answer(url, 500);
    const id = await endpoint(url, {
      types: ["webhook.delivery.exhausted"],
      retry_delays_seconds: [],
    });
    await outbound.api("POST", "/endpoints", {
      url: "https://receiver.test/x",
      types: ["lost-2"],
      retry_delays_seconds: [],
    });
    egress.answer("https://receiver.test/x", 500);
    await sendOne("lost-2");
    for (let i = 0; i < 4; i++) await outbound.advance(1000);
    expect(egress.received.filter((one) => one.url === url)).toHaveLength(1);
    expect(about(id)).toEqual([]);
  });

  it("say once that an endpoint is off, and not that it is failing, however many answers say so", async () => {
    const url = "https://receiver.test/all-gone";
    const id = await endpoint(url, { types: ["all-gone"] });
    const change = (patch: object): Promise<unknown> =>
      outbound.api("PATCH", `/endpoints/${id}`, patch);
    // Each success lets one more request go out at a time.
    for (let i = 0; i < 6; i++) await sendOne("all-gone");
    await outbound.advance(1);
    await change({ rate_per_second: 0.01 });
    for (let i = 0; i < 9; i++) await sendOne("all-gone");
    await outbound.advance(1);
    egress.answer(url, 410);
    const before = egress.received.filter((one) => one.url === url).length;
    await change({ rate_per_second: null });
    await outbound.advance(1);
    await outbound.advance(1);
    expect(egress.received.filter((one) => one.url === url).length - before).toBeGreaterThan(5);
    const types = about(id).map(({ type }) => type);
    expect(types.filter((type) => type !== "webhook.delivery.exhausted")).toEqual([
      "webhook.endpoint.disabled",
    ]);
  });

  it("about one endpoint arrive in order where order was asked for", async () => {
    const url = "https://ordered-ops.test/alerts";
    await endpoint(url, {
      types: ["webhook.endpoint.*"],
      ordered: true,
      retry_delays_seconds: [3600],
    });
    const failing = "https://receiver.test/first-failing";
    egress.answer(failing, 500);
    const id = await endpoint(failing, { types: ["first-failing"] });
    egress.answer(url, 503, 200);
    for (let i = 0; i < 5; i++) await sendOne("first-failing");
    await outbound.advance(1);
    await outbound.advance(1);
    egress.answer(failing, 410);
    await outbound.advance(60_000);
    for (let i = 0; i < 4; i++) await outbound.advance(DAY / 24);
    const heard = egress.received
      .filter((one) => one.url === url)
      .map(({ body }) => JSON.parse(body) as Notice)
      .filter(({ data }) => data?.["endpoint_id"] === id)
      .map(({ type }) => type);
    expect(heard).toEqual([
      "webhook.endpoint.failing",
      "webhook.endpoint.failing",
      "webhook.endpoint.disabled",
    ]);
  });

  it("name lost messages of the account whose types begin as theirs", async () => {
    const url = "https://receiver.test/own-type";
    egress.answer(url, 500);
    const id = await endpoint(url, { types: ["webhook.mine"], retry_delays_seconds: [] });
    await sendOne("webhook.mine");
    await outbound.advance(1);
    await outbound.advance(1);
    expect(about(id)).toMatchObject([
      { type: "webhook.delivery.exhausted", data: { message_type: "webhook.mine" } },
    ]);
  });

  it("do not go to endpoints that take every event", async () => {
    const url = "https://receiver.test/everything";
    await endpoint(url, {});
    const gone = "https://receiver.test/gone-now";
    egress.answer(gone, 410);
    const id = await endpoint(gone, { types: ["bye"] });
    await sendOne("bye");
    await outbound.advance(1);
    await outbound.advance(1);
    expect(
      about(id)
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(["webhook.delivery.exhausted", "webhook.endpoint.disabled"]);
    const taken = egress.received.filter((one) => one.url === url);
    expect(taken.filter(({ body }) => body.includes("webhook."))).toEqual([]);
  });
});
