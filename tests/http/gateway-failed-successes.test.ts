import { describe, expect, it } from "vitest";
import { byEvent, chat, logs, seen, send } from "../fakes/gateway-sent.ts";

const streaming = JSON.stringify({ ...JSON.parse(chat), stream: true });

describe.each([
  ["an answer", chat],
  ["a stream", streaming],
])("%s with a status of success that is an error", (_, body) => {
  it("is tried again, and its row says why", async () => {
    const headers = { "cf-aig-max-attempts": "2", "cf-aig-retry-delay": "1" };
    const { id, response } = send({ mode: "failed-success", body, headers });
    const answer = await response;
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain("error");
    expect(await seen(id)).toHaveLength(2);
    const event = answer.headers.get("cf-aig-event-id") ?? "";
    expect(await logs("open", byEvent(event), 2)).toMatchObject([
      { success: true, note: null },
      { success: false, status_code: 200, note: "error in the answer: rate_limit (429)" },
    ]);
  });

  it("passes unchanged where nothing can make it good, and fails in its row", async () => {
    const { response } = send({ mode: "failed-success", body });
    const answer = await response;
    expect([answer.status, (await answer.text()).includes("Provider returned error")]).toEqual([
      200,
      true,
    ]);
    const event = answer.headers.get("cf-aig-event-id") ?? "";
    expect(await logs("open", byEvent(event), 1)).toMatchObject([
      { success: false, note: "error in the answer: rate_limit (429)" },
    ]);
  });
});
