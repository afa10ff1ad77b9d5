// The agents of docs/agents.md, which tests run and compare with the page: what stands between two marks is shown.
import { defineAgent, getAgentByName } from "../../core/agents/mod.ts";
import type { Platform } from "../../core/ports.ts";

// shown: calls
export const board = defineAgent({
  name: "board",
  initialState: { total: 0 },
  callable: {
    add: {
      // One after another: what is read stays true over an `await`.
      exclusive: true,
      async run(agent, n: number) {
        await agent.setState({ total: agent.state.total + n });
        return agent.state.total;
      },
    },
  },
});

export const player = defineAgent({
  name: "player",
  callable: {
    score: (agent, n: number) => agent.getAgentByName(board, "main").add(n),
  },
});

export async function report(platform: Platform): Promise<string> {
  const total = await getAgentByName(platform, player, "ann").score(3);
  return `The board says ${total}`;
}
// end

// shown: outbox
export const shop = defineAgent({
  name: "shop",
  initialState: { sold: 0 },
  async onEvent(agent, event) {
    await agent.transaction((tx) => {
      tx.setState({ sold: agent.state.sold + 1 });
      // A handler may run again for the same event: of the messages with one key the first counts.
      tx.webhooks.send({
        type: "shop.sold",
        payload: { order: event.id },
        idempotency_key: event.id,
      });
    });
  },
});
// end

// shown: gateway
export const assistant = defineAgent({
  name: "assistant",
  callable: {
    async ask(agent, content: string) {
      const answer = await agent.gateway("default").run({
        provider: "echo",
        endpoint: "chat/completions",
        query: { model: "echo", messages: [{ role: "user", content }] },
      });
      return answer.json();
    },
  },
});
// end
