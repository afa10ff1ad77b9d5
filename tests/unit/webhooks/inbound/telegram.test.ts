import { afterAll, beforeAll, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks } from "../../../../core/webhooks/mod.ts";
import { SECRET } from "../../../fakes/webhooks-sender.ts";

let platform: Platform;
let app: ReturnType<typeof webhooks>;

beforeAll(async () => {
  platform = await openPlatform();
  app = webhooks({
    platform,
    auth: "off",
    sources: { telegram: { scheme: "telegram", secret: SECRET } },
  });
  agents({ platform, auth: "off" });
});
afterAll(() => platform.close());

// Each kind of update (https://core.telegram.org/bots/api#update), with the members that say whom it is about.
it.each([
  [{ message: { chat: { id: -100 }, from: { id: 7 } } }, "-100"],
  [{ edited_channel_post: { chat: { id: 2 } } }, "2"],
  [{ my_chat_member: { chat: { id: 3 }, from: { id: 7 } } }, "3"],
  [{ message_reaction_count: { chat: { id: 4 } } }, "4"],
  [{ callback_query: { from: { id: 7 }, message: { chat: { id: 5 } } } }, "5"],
  [{ callback_query: { from: { id: 6 }, inline_message_id: "x" } }, "6"],
  [{ pre_checkout_query: { from: { id: 8 } } }, "8"],
  [{ poll_answer: { poll_id: "p", user: { id: 9 } } }, "9"],
  [{ poll: { id: "p", question: "?" } }, "default"],
  [{ kind_of_next_year: {} }, "default"],
])("an update of Telegram %j belongs to %s", async (update, entity) => {
  const body = JSON.stringify({ update_id: JSON.stringify(update).length, ...update });
  const headers = { "x-telegram-bot-api-secret-token": SECRET };
  const request = new Request("http://causey.test/telegram", { method: "POST", body, headers });
  const answer = await app.fetch(request);
  const { result } = (await answer.json()) as { result: { entity: string } };
  expect([answer.status, result.entity]).toEqual([200, entity]);
});
