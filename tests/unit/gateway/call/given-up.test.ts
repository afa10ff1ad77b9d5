import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await gatewayUnderTest();
  await gateway.create("kept");
});
afterAll(() => gateway.close());

const reason = '{"error":{"message":"slow down"}}';

const steps = ["openai", "anthropic"].map((provider) => ({
  provider,
  endpoint: "chat/completions",
  headers: {},
  query: chat,
}));
const again = { "cf-aig-max-attempts": "2", "cf-aig-retry-delay": "1" };

/** Two requests whose first answer is not the client's. */
const asks: Readonly<Record<string, (event: Record<string, string>) => Promise<Response>>> = {
  "try before the last": (event) =>
    gateway.send("kept/openai/chat/completions", jsonInit(chat, { ...again, ...event })),
  "step before the last": (event) => gateway.send("kept", jsonInit(steps, event)),
};

describe.each(Object.entries(asks))("the answer of a %s", (name, ask) => {
  it.each<[string, readonly string[], "end" | "hang", boolean]>([
    ["whole", [reason], "end", false],
    ["as far as it came within a second", [reason], "hang", true],
    ["in its first part", [reason, " ".repeat(65_536), "more"], "hang", true],
  ])("is kept in its row %s", async (part, chunks, ending, isLeft) => {
    let left = false;
    const onCancel = (): void => void (left = true);
    const refusal = streamReply(chunks, { ending, type: "application/json", onCancel });
    let asked = 0;
    gateway.transport.behave = () =>
      asked++ === 0 ? { ...refusal, status: 429 } : jsonReply({ ok: true });
    const event = `${name} ${part}`.replaceAll(" ", "-");
    expect((await ask({ "cf-aig-event-id": event })).status).toBe(200);
    const rows = await gateway.rowsOf("kept", event, 2);
    const refused = rows.find(({ status_code: status }) => status === 429);
    const answer = await gateway.manageRaw(
      `/gateways/kept/logs/${String(refused?.["id"])}/response`,
    );
    expect((await answer.text()).trim()).toBe(reason);
    expect(left).toBe(isLeft);
  });
});
