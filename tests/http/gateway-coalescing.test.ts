import { randomUUID } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import type { Seen } from "./upstream.ts";

// Requests of different connections meet in one call to the provider: on Workers, where no request may touch
// another one's streams, this is what unit tests cannot show.

const base = inject("baseUrl");
const upstream = inject("upstreamUrl");
const account = inject("accountId");

interface Client {
  readonly response: Promise<IncomingMessage>;
  /** The first bytes. */
  readonly first: Promise<string>;
  /** What has come so far. */
  sofar(): string;
  /** All bytes; rejects when the answer breaks off. */
  readonly text: Promise<string>;
  /** Goes away as a lost client does. */
  leave(): void;
}

/** Asks the gateway, with its cache on, on a connection of its own. */
function ask(
  mode: string,
  id: string,
  user: string,
  headers: Readonly<Record<string, string>> = {},
): Client {
  const response = Promise.withResolvers<IncomingMessage>();
  const first = Promise.withResolvers<string>();
  const text = Promise.withResolvers<string>();
  let all = "";
  for (const { promise } of [response, first, text]) promise.catch(() => undefined);
  const request = httpRequest(
    `${base}/v1/${account}/open/openai/chat/completions`,
    {
      method: "POST",
      agent: false,
      headers: {
        "content-type": "application/json",
        "x-test-mode": mode,
        "x-test-id": id,
        "cf-aig-cache-ttl": "60",
        ...headers,
      },
    },
    (res) => {
      response.resolve(res);
      res.setEncoding("utf8");
      res.on("data", (piece: string) => first.resolve((all += piece)));
      res.on("end", () => text.resolve(all));
      res.on("error", text.reject);
    },
  );
  for (const { reject } of [response, first, text]) request.on("error", reject);
  request.end(JSON.stringify({ model: "m", user, messages: [{ role: "user", content: "hi" }] }));
  const leave = (): void => {
    if (inject("target") === "workers") request.socket?.resetAndDestroy();
    else request.destroy();
  };
  return {
    response: response.promise,
    first: first.promise,
    sofar: () => all,
    text: text.promise,
    leave,
  };
}

async function seen(id: string): Promise<Seen[]> {
  return (await (await fetch(`${upstream}/__seen/${id}`)).json()) as Seen[];
}

/** Has the provider go one step on. */
async function step(id: string): Promise<void> {
  await (await fetch(`${upstream}/__step/${id}`)).text();
}

const cacheStatus = async (client: Client): Promise<unknown> =>
  (await client.response).headers["cf-aig-cache-status"];

it("a follower gets the stream as it comes, also when the leader's client is gone", async () => {
  const [id, user] = [randomUUID(), randomUUID()];
  const leader = ask("held", id, user);
  await leader.first;
  const follower = ask("held", id, user);
  expect(await follower.first).toBe('data: {"n":1}\n\n');
  expect(await cacheStatus(follower)).toBe("HIT");
  leader.leave();
  const late = ask("held", id, user);
  expect(await late.first).toBe('data: {"n":1}\n\n');
  await step(id);
  await eventually(
    () => [follower, late].every(({ sofar }) => sofar().includes('{"n":2}')),
    "both get the second event",
  );
  expect((await seen(id))[0]).toMatchObject({ finished: false, aborted: false });
  await step(id);
  const all = 'data: {"n":1}\n\ndata: {"n":2}\n\ndata: [DONE]\n\n';
  expect(await Promise.all([follower.text, late.text])).toEqual([all, all]);
  expect(await ask("held", id, user).text).toBe(all);
  expect(await seen(id)).toMatchObject([{ finished: true, aborted: false }]);
});

it("the last client that leaves ends the provider's stream", async () => {
  const [id, user] = [randomUUID(), randomUUID()];
  const leader = ask("hang", id, user);
  await leader.first;
  const follower = ask("hang", id, user);
  await follower.first;
  leader.leave();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect((await seen(id))[0]).toMatchObject({ aborted: false });
  follower.leave();
  await eventually(async () => (await seen(id))[0]?.aborted === true, "the provider hears it");
});

it("a provider that breaks off breaks every answer, after what it had sent", async () => {
  const [id, user] = [randomUUID(), randomUUID()];
  const cut = { "x-test-cut": "yes" };
  const leader = ask("held", id, user, cut);
  await leader.first;
  const follower = ask("held", id, user, cut);
  expect(await follower.first).toBe('data: {"n":1}\n\n');
  await step(id);
  for (const { text } of [leader, follower]) await expect(text).rejects.toThrow();
  expect(await seen(id)).toHaveLength(1);
});
