// The agents of docs/agents.md, which tests run and compare with the page: what stands between two marks is shown.
import { defineAgent, getAgentByName, NonRetryableError } from "../../core/agents/mod.ts";
import { platformApi, type PlatformApi } from "../../core/api.ts";
import type { Platform } from "../../core/ports.ts";

// shown: first
export const repo = defineAgent({
  name: "repo-agent",
  initialState: { stars: 0 },
  async onEvent(agent, event) {
    const { repository } = event.payload as { repository: { stargazers_count: number } };
    await agent.setState({ stars: repository.stargazers_count });
  },
  callable: { latest: (agent, limit: number) => agent.events({ limit }) },
});

export function serve(platform: Platform, secret: string): PlatformApi {
  return platformApi({
    platform,
    agents: [repo],
    webhooks: { sources: { github: { scheme: "github", secret, agent: "repo-agent" } } },
  });
}
// end

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

// shown: capabilities
export const librarian = defineAgent({
  name: "librarian",
  callable: {
    async find(agent, query: string) {
      const { chunks } = await agent.search("docs").search({ query });
      return chunks.map((chunk) => chunk.text);
    },
    read: {
      // A browser may take longer than the 30 s that a callable has.
      timeoutMs: 120_000,
      run: (agent, html: string) => agent.render.markdown({ html, setJavaScriptEnabled: false }),
    },
  },
});
// end

// shown: tasks
export const mailer = defineAgent({
  name: "mailer",
  initialState: { sent: 0 },
  callable: {
    remind: (agent, to: string, seconds: number) => agent.schedule(seconds, "mail", { to }),
    mail: (agent, to: string) => agent.queue("mail", { to }, { delaySeconds: 0 }),
    count: {
      streaming: true,
      run(_agent, stream, to: number) {
        for (let n = 1; n <= to; n++) stream.send(n);
        stream.end("done");
      },
    },
    dead: (agent) => agent.deadLetters(),
    sent: (agent) => agent.state.sent,
  },
  tasks: {
    async mail(agent, { to }: { to: string }, run) {
      // No later attempt would do better: a dead letter at once.
      if (!to.includes("@")) throw new NonRetryableError(`No address: ${to} (run ${run.attempt})`);
      await agent.setState({ sent: agent.state.sent + 1 });
    },
    report: (agent) => agent.broadcast(`${agent.state.sent} sent`),
  },
  schedules: { report: "0 8 * * 1" },
});
// end

// shown: ticket
export async function ticketFor(app: PlatformApi, name: string, token: string): Promise<string> {
  const answer = await app.request(`/agents/board/${encodeURIComponent(name)}/ticket`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ ttl_seconds: 60, origin: "https://app.example" }),
  });
  const { result } = (await answer.json()) as { result: { ticket: string } };
  return result.ticket;
}
// end
