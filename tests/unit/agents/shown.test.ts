import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, openPlatform } from "#platform";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { agents, defineAgent, getAgentByName } from "../../../core/agents/mod.ts";
import type { Authenticate } from "../../../core/auth/authorize.ts";
import type { Platform } from "../../../core/ports.ts";
import { seedInstance } from "../../fakes/search-seed.ts";
import { eventually } from "../../cases/eventually.ts";
import {
  assistant,
  board,
  librarian,
  mailer,
  player,
  repo,
  report,
  serve,
  shop,
  ticketFor,
} from "../../fakes/agents-shown.ts";
import { receiver } from "../../fakes/webhooks-receiver.ts";
import { githubRequest, SECRET, signedRequest } from "../../fakes/webhooks-sender.ts";

/** The one who may do everything. */
const TOKEN = "a token for tests only";
const auth: Authenticate = (request) =>
  Promise.resolve(
    request.headers.get("authorization") === `Bearer ${TOKEN}`
      ? {
          id: "t",
          kind: "token",
          grants: [{ permissions: ["Agents Read", "Webhooks Edit"], accounts: ["local"] }],
        }
      : null,
  );

const egress = receiver();
let platform: Platform;
let app: PlatformApi;
beforeAll(async () => {
  platform = await openPlatform();
  app = platformApi({
    platform: { ...platform, egress },
    demo: true,
    agents: [assistant, board, librarian, mailer, player, shop],
    auth,
    webhooks: {
      sources: {
        orders: { scheme: "generic", secret: SECRET, agent: "shop", entity: { from: "path" } },
      },
    },
  });
});
afterAll(() => platform.close());

describe("the agents of docs/agents.md", () => {
  it("follow the webhooks of a repository", async () => {
    const own = await openPlatform();
    const served = serve(own, SECRET);
    const event = { repository: { full_name: "Octo/Hello", stargazers_count: 7 } };
    const answer = await served.fetch(await githubRequest("/webhooks/github", event, "d1", "star"));
    expect(answer.status).toBe(200);
    expect(await getAgentByName(own, repo, "octo-hello").latest(5)).toMatchObject([{ id: "d1" }]);
    expect(await served.fetch(new Request("http://causey.test/agents/repo-agent/octo-hello")))
      // No token.
      .toMatchObject({ status: 401 });
    await own.close();
  });

  it("call each other, and are called by the server", async () => {
    expect(await report(platform)).toBe("The board says 3");
    expect(await report(platform)).toBe("The board says 6");
  });

  it("write a state and a message together, once for an event", async () => {
    const made = await app.request("/client/v4/accounts/local/webhooks/endpoints", {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ url: "https://shop.example/sold", types: ["shop.sold"] }),
    });
    expect(made.status).toBe(201);
    for (let n = 0; n < 2; n++) {
      const event = await signedRequest("/webhooks/orders/s1", { n: 1 }, { "webhook-id": "o1" });
      expect((await app.fetch(event)).status).toBe(200);
    }
    const sold = (): unknown[] =>
      egress.received
        .filter(({ url }) => url === "https://shop.example/sold")
        .map(({ body }) => JSON.parse(body));
    await eventually(() => sold().length === 1, "the message arrives");
    expect(sold()).toEqual([{ order: "o1" }]);
    const socket = await connect(platform.actors.get("agent:shop", "s1"));
    await socket.next();
    expect(JSON.parse(String(await socket.next()))).toMatchObject({ state: { sold: 1 } });
    socket.close();
  });

  it("queue, schedule and give up tasks, and stream", async () => {
    const stub = getAgentByName(platform, mailer, "m");
    await stub.mail("ann@example.com");
    await stub.remind("bob@example.com", 0.01);
    await stub.mail("nobody");
    await eventually(async () => (await stub.sent()) === 2, "both mails are sent");
    await eventually(async () => (await stub.dead()).length === 1, "the third is dead");
    expect(await stub.dead()).toMatchObject([
      { task: "mail", error: "No address: nobody (run 1)" },
    ]);
    const socket = await connect(platform.actors.get("agent:mailer", "m"));
    socket.send(JSON.stringify({ type: "rpc", id: "1", method: "count", args: [2] }));
    const results: unknown[] = [];
    while (results.at(-1) !== "done") {
      const frame = JSON.parse(String(await socket.next())) as Record<string, unknown>;
      if (frame["type"] === "rpc") results.push(frame["result"]);
    }
    expect(results).toEqual([1, 2, "done"]);
    socket.close();
  });

  it("ask a gateway of the same program", async () => {
    expect(await getAgentByName(platform, assistant, "a").ask("Hello")).toMatchObject({
      choices: [{ message: { role: "assistant" } }],
    });
  });

  it("search and render in the same program", async () => {
    const stub = getAgentByName(platform, librarian, "l");
    await expect(stub.find("herons")).rejects.toThrow("ai_search_not_found");
    const documents = [{ key: "birds.md", text: "Herons stand in the river." }];
    await seedInstance({ platform }, { account: "local", id: "docs", documents });
    expect(await stub.find("herons")).toEqual(["Herons stand in the river."]);
    expect(await stub.read("<h1>Herons</h1><p>In the river")).toContain("# Herons");
  });

  it("let a page in by a ticket of one agent", async () => {
    const ticket = await ticketFor(app, "main", TOKEN);
    const events = (name: string, query: string): Promise<Response> =>
      Promise.resolve(
        app.request(`/agents/board/${name}/events?${query}`, {
          headers: { origin: "https://app.example" },
        }),
      );
    const answer = await events("main", `ticket=${encodeURIComponent(ticket)}`);
    expect(answer.status).toBe(200);
    await answer.body?.cancel();
    expect((await events("other", `ticket=${encodeURIComponent(ticket)}`)).status).toBe(403);
    expect((await events("main", "ticket=none")).status).toBe(401);
  });

  it("are told which option of agents() a capability needs", async () => {
    const own = await openPlatform();
    agents({ platform: own, auth: "off", agents: [assistant, librarian] });
    const needs = (name: string): string =>
      `agent.${name} needs the option "${name}" of agents(), which platformApi() gives`;
    const stub = getAgentByName(own, librarian, "l");
    await expect(getAgentByName(own, assistant, "a").ask("Hello")).rejects.toThrow(
      needs("gateway"),
    );
    await expect(stub.find("x")).rejects.toThrow(needs("search"));
    await expect(stub.read("x")).rejects.toThrow(needs("render"));
    await own.close();
  });
});

describe("a capability of an agent", () => {
  it("ends with the run that uses it, and does nothing after it", async () => {
    const own = await openPlatform();
    const asked: string[] = [];
    /** Never answers, and says what it was asked until the signal ends it. */
    const hang =
      (what: string) =>
      (_body: unknown, call?: { readonly signal?: AbortSignal | undefined }): Promise<never> => {
        asked.push(what);
        if (call?.signal === undefined) return Promise.reject(new Error("no signal"));
        return new Promise((_resolve, reject) => {
          call?.signal?.addEventListener("abort", () => {
            asked.push(`${what} ended`);
            reject(new Error("ended"));
          });
        });
      };
    const all = {
      pdf: hang("pdf"),
      screenshot: hang("screenshot"),
      markdown: hang("markdown"),
      json: hang("json"),
      content: hang("content"),
      links: hang("links"),
      scrape: hang("scrape"),
      snapshot: hang("snapshot"),
    };
    const late: unknown[] = [];
    const caller = defineAgent({
      name: "caller",
      timeoutMs: 50,
      callable: {
        async use(agent) {
          const docs = agent.search("docs");
          const messages = [{ role: "user", content: "x" }] as const;
          const calls = (): Promise<unknown>[] => [
            docs.search({ query: "x" }),
            docs.chatCompletions({ messages }),
            ...Object.keys(all).map((name) => agent.render[name as keyof typeof all]({ html: "" })),
          ];
          await Promise.allSettled(calls());
          for (const one of await Promise.allSettled(calls())) late.push(one.status);
        },
      },
    });
    agents({
      platform: own,
      auth: "off",
      agents: [caller],
      search: () => ({ search: hang("search"), chatCompletions: hang("chat") }),
      render: all,
    });
    await expect(getAgentByName(own, caller, "c").use()).rejects.toThrow(
      "Method use took more than 50 ms",
    );
    await eventually(() => late.length === 10, "it goes on regardless");
    const names = ["search", "chat", ...Object.keys(all)];
    expect(asked).toEqual([...names, ...names.map((name) => `${name} ended`)]);
    expect(new Set(late)).toEqual(new Set(["rejected"]));
    await own.close();
  });
});
