import { expect, it } from "vitest";
import { API_TOKEN, chat, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";

it("a list of the log has the row of the request before it, also one by its id", async () => {
  const gate = await gatewayUnderTest();
  await gate.create("fresh");
  for (let sent = 1; sent <= 5; sent++) {
    const answer = await gate.send("fresh/openai/chat/completions", {
      ...jsonInit(chat),
      token: API_TOKEN,
    });
    await answer.arrayBuffer();
    const id = answer.headers.get("cf-aig-log-id") ?? "";
    expect((await gate.manage(`/gateways/fresh/logs/${id}`)).body.result).toMatchObject({ id });
    expect((await gate.manage("/gateways/fresh/logs")).body.result).toHaveLength(sent);
  }
  await gate.close();
});
