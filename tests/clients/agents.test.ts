import { sign } from "@octokit/webhooks-methods";
import { AgentClient, agentFetch } from "agents/client";
import { afterEach, describe, expect, inject, it } from "vitest";
import { webhookSecrets } from "../http/prepare-target.ts";

const url = new URL(inject("baseUrl"));
const token = inject("token");
const open: AgentClient[] = [];

afterEach(() => {
  for (const client of open.splice(0)) client.close();
});

interface EventRecord {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly payload: string;
}

interface Feed {
  readonly eventCount: number;
  readonly lastEvent: EventRecord | null;
}

/** The unmodified client; `ws:` because the host is a loopback address. */
function connect(
  name: string,
  query: Record<string, string> = { token },
  agent = "webhook-agent",
): AgentClient<Feed> {
  const client = new AgentClient<Feed>({ agent, name, host: url.host, query });
  open.push(client);
  return client;
}

async function push(repository: string, id: string, title: string): Promise<number> {
  const body = JSON.stringify({
    action: "opened",
    issue: { title },
    repository: { full_name: repository },
  });
  const response = await fetch(new URL("/webhooks/github", url), {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "issues",
      "x-github-delivery": id,
      "x-hub-signature-256": await sign(webhookSecrets.github, body),
    },
  });
  await response.body?.cancel();
  return response.status;
}

describe("AgentClient of agents/client", () => {
  it("connects, gets identity and state, sees updates, and calls operations", async () => {
    const client = connect("octo-client");
    await client.ready;
    expect([client.name, client.agent, client.identified]).toEqual([
      "octo-client",
      "webhook-agent",
      true,
    ]);
    expect(client.state).toEqual({ eventCount: 0, lastEvent: null });

    const updated = new Promise<Feed>((resolve) => {
      client.addEventListener("message", () => {
        if (client.state !== undefined && client.state.eventCount > 0) resolve(client.state);
      });
    });
    expect(await push("octo/client", "delivery-1", "First")).toBe(200);
    expect(await updated).toMatchObject({
      eventCount: 1,
      lastEvent: { id: "delivery-1", title: "First" },
    });

    const events = await client.call<EventRecord[]>("getEvents");
    expect(Object.keys(events[0] ?? {}).length).toBe(9);
    expect(JSON.parse(events[0]?.payload ?? "")).toMatchObject({ issue: { title: "First" } });
    expect(await client.call("getEventsByType", ["issues", 5])).toHaveLength(1);
    expect(await client.call("getEventsByType", ["push"])).toEqual([]);
  });

  it("gets the message of a failed call", async () => {
    const client = connect("octo-errors");
    await client.ready;
    await expect(client.call("nothing")).rejects.toThrow("Method nothing does not exist");
    await expect(client.call("setState", [{}])).rejects.toThrow("Method setState is not callable");
    await expect(client.call("getEvents", ["many"])).rejects.toThrow("limit must be a number");
  });

  it("is told that a webhook agent is read-only", async () => {
    const refused = new Promise<string>((resolve) => {
      const client = new AgentClient({
        agent: "webhook-agent",
        name: "octo-readonly",
        host: url.host,
        query: { token },
        onStateUpdateError: resolve,
      });
      open.push(client);
      void client.ready.then(() => client.setState({ eventCount: 99 }));
    });
    expect(await refused).toBe("Connection is readonly");
    const other = connect("octo-readonly");
    await other.ready;
    expect(other.state).toEqual({ eventCount: 0, lastEvent: null });
  });

  it("reaches the entity of a name in any script, decoded once", async () => {
    const client = connect("münchen");
    await client.ready;
    expect(client.name).toBe("münchen");
  });

  it("connects with a ticket instead of a token, to its own agent only", async () => {
    const response = await fetch(new URL("/agents/webhook-agent/octo-ticket/ticket", url), {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    const { result } = (await response.json()) as { result: { ticket: string } };
    const client = connect("octo-ticket", result);
    await client.ready;
    expect(client.state).toEqual({ eventCount: 0, lastEvent: null });
    const other = connect("octo-other", result);
    const code = await new Promise<number>((resolve) => {
      other.addEventListener("close", (event) => {
        resolve(event.code);
      });
    });
    expect(code).toBe(4003);
  });

  const refusals: readonly [string, number, Record<string, string>, string][] = [
    ["no token", 4001, {}, "webhook-agent"],
    ["a wrong token", 4001, { token: "causey_wrong" }, "webhook-agent"],
    ["an unknown class", 4004, { token }, "no-such-agent"],
    ["the Cap'n Web transport", 4004, { token, __agents_transport: "capnweb" }, "webhook-agent"],
  ];
  for (const [what, code, query, agent] of refusals) {
    it(`stops for good after close code ${code}: ${what}`, async () => {
      const client = connect("refused", query, agent);
      const closed = await new Promise<number>((resolve) => {
        client.addEventListener("close", (event) => {
          resolve(event.code);
        });
      });
      expect(closed).toBe(code);
      expect(client.connectionError?.code).toBe(code);
      await expect(client.call("getEvents")).rejects.toThrow();
    });
  }

  it("reconnects after a lost connection and is ready with the newest state", async () => {
    const client = connect("octo-again");
    await client.ready;
    expect(await push("octo/again", "one", "One")).toBe(200);
    client.reconnect();
    await new Promise((resolve) => {
      client.addEventListener("open", resolve, { once: true });
    });
    await client.ready;
    expect(client.state).toMatchObject({ eventCount: 1, lastEvent: { id: "one" } });
  });
});

describe("agentFetch of agents/client", () => {
  it("reaches the agent over HTTP: the webhook agent answers no requests", async () => {
    const options = { agent: "webhook-agent", name: "over-http", host: url.host };
    const response = await agentFetch(options, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(404);
    expect((await agentFetch(options)).status).toBe(401);
  });
});
