import { describe, expect, it } from "vitest";
import { startReviewer } from "../../../../core/agents/access/reviewer.ts";
import type { Reviewer } from "../../../../core/agents/define/services.ts";
import { grantOf } from "../../../../core/agents/protocol/grant.ts";
import { startReviews } from "../../../../core/agents/session/reviews.ts";
import type { Authenticate } from "../../../../core/auth/authorize.ts";
import type { Permission } from "../../../../core/auth/permissions.ts";
import { sha256Hex } from "../../../../core/crypto/digest.ts";
import { ApiError } from "../../../../core/http/api-error.ts";
import type { Connection, Log, Plain, System } from "../../../../core/ports.ts";

const TOKEN = "token-of-a-visitor";
const byHeader = new Request("http://x/", { headers: { authorization: `Bearer ${TOKEN}` } });
const read: readonly Permission[] = ["Agents Read"];
const both: readonly Permission[] = ["Agents Read", "Agents Edit"];

interface Setup {
  readonly reviewer: Reviewer;
  readonly closed: string[];
  readonly logged: string[];
  /** What the token may now; null = it is not valid any longer. */
  held: readonly Permission[] | null | Error;
  now: number;
  open(request: Request): Promise<Connection>;
  /** Lets ten seconds pass. */
  pass(): Promise<void>;
}

function setup(knowsHashes = true): Setup {
  let wake = (): void => undefined;
  const find = (isKnown: boolean): Promise<ReturnType<typeof principal>> => {
    if (state.held instanceof Error) return Promise.reject(state.held);
    return Promise.resolve(isKnown ? principal(state.held) : null);
  };
  const hash = sha256Hex(TOKEN);
  const auth: Authenticate = Object.assign(() => find(true), {
    byToken: (token: string) => find(token === TOKEN),
    ...(knowsHashes ? { byHash: async (text: string) => find(text === (await hash)) } : {}),
  });
  const system = {
    now: () => state.now,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        expect(ms).toBe(10_000);
        wake = resolve;
        signal?.addEventListener("abort", () => reject(new Error("over")));
      }),
  } as System;
  const logged: string[] = [];
  const log: Log = (_, message) => void logged.push(message);
  const closed: string[] = [];
  const reviewer = startReviewer({
    platform: { log, system },
    apps: [{ auth, account: "local" }],
  });
  const state: Setup = {
    reviewer,
    closed,
    logged,
    held: both,
    now: 0,
    async open(request) {
      const holder = await reviewer.holderOf(request);
      const attachment: Plain = { edit: true, readonly: false, holder };
      const close = (code?: number, reason?: string): void => void closed.push(`${code} ${reason}`);
      return { id: "one", attachment, close } as unknown as Connection;
    },
    async pass() {
      wake();
      await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
  return state;
}

function principal(held: readonly Permission[] | null): {
  id: string;
  kind: "token";
  grants: { permissions: readonly Permission[]; accounts: string[] }[];
} | null {
  if (held === null) return null;
  return { id: "one", kind: "token", grants: [{ permissions: held, accounts: ["local"] }] };
}

const refusal = "1008 The token of this connection may not read this agent any longer";

describe("a connection's token", () => {
  it("is asked for every ten seconds, until the connection is over", async () => {
    const at = setup();
    const connection = await at.open(byHeader);
    at.reviewer.watch(connection, byHeader);
    await at.pass();
    expect(at.closed).toEqual([]);
    at.held = null;
    await at.pass();
    expect(at.closed).toEqual([refusal]);

    const left = await at.open(byHeader);
    at.reviewer.watch(left, byHeader);
    at.reviewer.unwatch(left);
    await at.pass();
    expect(at.closed).toEqual([refusal]);
  });

  it("takes the right to edit away, and the connection with the right to read", async () => {
    const at = setup();
    const connection = await at.open(byHeader);
    at.held = read;
    await at.reviewer.review(connection);
    expect(grantOf(connection)).toMatchObject({ edit: false, readonly: true });
    expect(at.closed).toEqual([]);
    at.held = ["Webhooks Read"];
    await at.reviewer.review(connection);
    expect(at.closed).toEqual([refusal]);
  });

  it("closes nothing when it cannot be looked up", async () => {
    const at = setup();
    const connection = await at.open(byHeader);
    at.held = new ApiError("internal");
    await at.reviewer.review(connection);
    expect(at.closed).toEqual([]);
    expect(at.logged).toEqual(["A connection's token could not be checked"]);
  });

  it("that only a host knows is asked for while it is in memory", async () => {
    const at = setup(false);
    const connection = await at.open(byHeader);
    at.held = null;
    await at.reviewer.review(connection);
    expect(at.closed).toEqual([]);
    at.reviewer.watch(connection, byHeader);
    await at.pass();
    expect(at.closed).toEqual([refusal]);
  });

  it("that says when it is over closes it then, also when only that was kept", async () => {
    const at = setup();
    const part = (value: object): string =>
      btoa(JSON.stringify(value)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");
    const jwt = `${part({ alg: "RS256" })}.${part({ exp: 1000 })}.c2ln`;
    const connection = await at.open(new Request(`http://x/?token=${jwt}`));
    at.now = 999_999;
    await at.reviewer.review(connection);
    expect(at.closed).toEqual([]);
    at.now = 1_000_000;
    await at.reviewer.review(connection);
    expect(at.closed).toEqual([refusal]);
  });

  it("is not asked for where a ticket opened it", async () => {
    const at = setup();
    const connection = await at.open(new Request("http://x/?ticket=one&token=two"));
    at.held = null;
    await at.reviewer.review(connection);
    expect(at.closed).toEqual([]);
  });
});

describe("the reviews of an instance that hibernates", () => {
  it("are done by its alarm, at once when that brings it back", async () => {
    const at = setup();
    const connection = await at.open(byHeader);
    let now = 1000;
    const beats: number[] = [];
    const start = (): ReturnType<typeof startReviews> =>
      startReviews(
        {
          sockets: {
            hibernates: true,
            connections: () => [connection],
            broadcast: () => undefined,
            accept: () => new Response(),
          },
          steady: () => now,
          system: { waitUntil: () => undefined } as unknown as System,
        },
        at.reviewer,
        (due) => Promise.resolve(beats.push(due)),
      );
    const first = start();
    first.begin(connection, byHeader);
    expect(beats).toEqual([11_000]);
    at.held = null;
    await first.runDue();
    expect(at.closed).toEqual([]);
    now = 11_000;
    expect(first.nextDue()).toBe(11_000);
    await start().runDue();
    expect(at.closed).toEqual([refusal]);
    await first.runDue();
    expect(first.nextDue()).toBe(21_000);
  });
});

describe("clients that vanish where the runtime does not notice", () => {
  it("are looked for by the alarm as long as one would be noticed, and handed over once", async () => {
    const at = setup();
    const [first, second] = [await at.open(byHeader), await at.open(byHeader)];
    const connections = [first];
    let silent = [first];
    let isNeeded = true;
    let now = 1000;
    const beats: number[] = [];
    const reviews = startReviews(
      {
        sockets: {
          hibernates: true,
          connections: () => connections,
          broadcast: () => undefined,
          accept: () => new Response(),
          vanished: {
            everyMs: 30_000,
            isNeeded: () => isNeeded,
            end: () => silent.splice(0),
          },
        },
        steady: () => now,
        system: { waitUntil: () => undefined } as unknown as System,
      },
      undefined,
      (due) => Promise.resolve(beats.push(due)),
    );
    reviews.begin(first, byHeader);
    connections.push(second);
    now = 11_000;
    reviews.begin(second, byHeader);
    expect(beats).toEqual([31_000, 31_000]);
    expect([await reviews.runDue(), reviews.nextDue()]).toEqual([[], 31_000]);
    now = 31_000;
    expect([await reviews.runDue(), reviews.nextDue()]).toEqual([[first], 61_000]);
    silent = [second];
    expect(await reviews.runDue()).toEqual([]);
    isNeeded = false;
    expect(reviews.nextDue()).toBeNull();
  });
});
