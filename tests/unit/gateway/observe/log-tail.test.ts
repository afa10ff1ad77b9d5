import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";

let gate: GatewayUnderTest;
let gateway = "";
let serial = 0;

beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(async () => {
  gateway = `tail-${serial++}`;
  await gate.create(gateway);
});

/** Makes rows, each stored before the next one. */
async function log(...models: string[]): Promise<void> {
  for (const model of models) {
    const event = `tail-event-${serial++}`;
    const init = jsonInit({ ...chat, model }, { "cf-aig-event-id": event });
    await (await gate.send(`${gateway}/openai/chat/completions`, init)).text();
    await gate.rowsOf(gateway, event, 1);
  }
}

/** Follows the tail until there are `count` events of the wanted kind; resolves to their models and the last id. */
async function follow(count: number, lastEventId?: string, query = "") {
  const leaving = new AbortController();
  const tail = await gate.manageRaw(`/gateways/${gateway}/logs/tail${query}`, {
    signal: leaving.signal,
    ...(lastEventId === undefined ? {} : { headers: { "last-event-id": lastEventId } }),
  });
  const reader = (tail.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  const models = (): string[] => [...text.matchAll(/"model":"([^"]+)"/g)].map(([, name]) => name!);
  do text += decoder.decode((await reader.read()).value);
  while (models().length < count || !text.endsWith("\n\n"));
  leaving.abort();
  // A runtime that does not pass the signal on notices at the end of the wait.
  gate.platform.system.waitUntil(reader.cancel());
  const id = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? "";
  return { models: models(), id, missed: text.includes("event: missed") };
}

it("goes on where a follower was, with no row left out and none twice", async () => {
  const start = await follow(0);
  await log("a", "b", "c");
  const first = await follow(2, start.id);
  expect(first.models.slice(0, 2)).toEqual(["a", "b"]);
  const afterB = String(Number(start.id) + 2);
  await log("d");
  const rest = await follow(2, afterB);
  expect(rest).toMatchObject({ models: ["c", "d"], missed: false });
  await log("e");
  expect((await follow(1, rest.id)).models).toEqual(["e"]);
});

it("goes on within its filter", async () => {
  const { id } = await follow(0);
  await log("other", "wanted", "other", "wanted");
  const query = "?filters.key=model&filters.operator=eq&filters.value=wanted";
  expect((await follow(2, id, query)).models).toEqual(["wanted", "wanted"]);
});

it("brings many rows in the order in which they were stored", async () => {
  const { id } = await follow(0);
  const models = Array.from({ length: 120 }, (_, n) => `m-${n}`);
  for (const model of models) {
    await (await gate.send(`${gateway}/openai/x`, jsonInit({ ...chat, model }))).text();
  }
  expect((await follow(120, id)).models).toEqual(models);
});

it("says so when rows are gone that nobody was shown", async () => {
  const { id } = await follow(0);
  await log("a", "b", "c");
  const { body } = await gate.manage(`/gateways/${gateway}/logs`);
  const gone = (body.result as { id: string; model: string }[]).find(({ model }) => model === "a");
  await gate.manage(
    `/gateways/${gateway}/logs?filters.key=id&filters.operator=eq&filters.value=${gone?.id}`,
    { method: "DELETE" },
  );
  expect(await follow(2, id)).toMatchObject({ models: ["b", "c"], missed: true });
});

it("goes on after the rows that a follower had seen were deleted", async () => {
  await log("a");
  const { id } = await follow(0);
  await gate.manage(`/gateways/${gateway}/logs`, { method: "DELETE" });
  await log("b");
  expect((await follow(1, id)).models).toEqual(["b"]);
});

it("refuses an id that is none of its own", async () => {
  const answer = await gate.manage(`/gateways/${gateway}/logs/tail`, {
    headers: { "last-event-id": "01J0-not-a-position" },
  });
  expect(answer.status).toBe(400);
  expect(answer.body.errors[0]?.message).toContain("Last-Event-ID");
});
