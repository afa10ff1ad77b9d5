// What the deprecations take of a request and of the start: the table compiled by a process that has compiled none before;
// one call of `withDeprecations()` before a host that costs nothing, by what becomes of it, beside its request alone; and an app of Hono's with 1,000
// records of today, read whole, without and with the middleware, plain and packed. Last the first byte of a slow stream.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { Hono } from "hono";
import { deprecationsMiddleware, withDeprecations } from "../core/deprecations/mod.ts";
import { CPU, type Figure, type Round, summarise, withMore } from "./harness/figure.ts";
import {
  compareFunctions,
  type FunctionContestant,
  measureFunctions,
} from "./harness/functions.ts";
import type { Options } from "./harness/options.ts";

const ROOT = "http://x/client/v4";
const RECORDS = `${ROOT}/zones/0123456789abcdef/dns_records`;

/** Runs `deprecations`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  yield compiling(options);
  const measured = await measureFunctions(calls(), options);
  const of = (own: string): string | undefined => (own === ALONE ? undefined : ALONE);
  const told = withMore(measured, { name: MORE, what: CPU, of });
  yield summarise("deprecations: one call", told);
  yield await compareFunctions("deprecations: 1,000 records of today", apps(), options);
  yield await firstBytes(options);
}

/** The first compilation of processes of their own: a second one in the same process takes a tenth. */
function compiling({ rounds }: Options): Figure[] {
  const code = `
    const { withDeprecations } = await import("./core/deprecations/mod.ts");
    const [cpu, began] = [process.cpuUsage(), performance.now()];
    withDeprecations({});
    const [ms, { user, system }] = [performance.now() - began, process.cpuUsage(cpu)];
    process.stdout.write(JSON.stringify({ "CPU ms": (user + system) / 1000, "wall ms": ms }));`;
  const found: Round[] = Array.from({ length: Math.max(rounds, 9) }, () =>
    JSON.parse(
      execFileSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" }),
    ),
  );
  const goals = [{ what: "wall ms", atMost: 2 }];
  return summarise("deprecations: the table at the start", [
    { name: "144 entries", goals, rounds: found },
  ]);
}

const ALONE = "the request alone";
const MORE = "more CPU µs/op";

/** Calls before a host that answers with the same response. Each has a request of its own, which is the most of it. */
function calls(): FunctionContestant[] {
  const answer = new Response(null);
  const next = (): Promise<Response> => Promise.resolve(answer);
  // Awaited as the others are: the turn that this takes is not ours.
  const host: (request: Request) => Promise<Response> = next;
  const isMounted = (_: string, path: string): boolean => !path.includes("minify");
  const handle = withDeprecations({ clock: () => Date.UTC(2026, 5, 1), isMounted });
  const call = (name: string, url: string, atMost: number): FunctionContestant => ({
    name,
    run: () => handle(new Request(url), next),
    batch: 200,
    goals: [{ what: MORE, atMost }],
  });
  return [
    { name: ALONE, run: () => host(new Request(`${ROOT}/user/tokens/verify`)), batch: 200 },
    call("miss", `${ROOT}/user/tokens/verify`, 0.25),
    call("announced", `${ROOT}/accounts/a/devices`, 5),
    call("410", `${ROOT}/zones/0123456789abcdef/settings/minify`, 10),
    call("rewritten query", `${RECORDS}?name=contains:www&page=2`, 20),
  ];
}

const BARE = "bare Hono";

/** A list of records as the hosted API answers it today, which has none of the old fields. */
function apps(): FunctionContestant[] {
  const records = Array.from({ length: 1000 }, (_, n) => ({
    id: `372e67954025e0ba6aaa6d586b9e${n}`,
    name: `host${n}.example.com`,
    type: "A",
    content: "198.51.100.4",
    proxiable: true,
    proxied: true,
    ttl: 3600,
    settings: { ipv4_only: true, ipv6_only: true },
    meta: { auto_added: false, source: "primary" },
    comment: "Domain verification record",
    tags: ["owner:dns-team"],
    created_on: "2014-01-01T05:20:00.12345Z",
    modified_on: "2014-01-01T05:20:00.12345Z",
  }));
  const body = { result: records, success: true, errors: [], messages: [] };
  const packed = gzipSync(JSON.stringify(body));
  const host = (withOurs: boolean): Hono => {
    const app = new Hono();
    if (withOurs) app.use("*", deprecationsMiddleware({ clock: () => Date.UTC(2026, 5, 1) }));
    app.get("/client/v4/zones/:zone/dns_records", (c) =>
      c.req.query("packed") === undefined
        ? c.json(body)
        : c.body(packed, 200, {
            "content-type": "application/json",
            "content-encoding": "gzip",
          }),
    );
    return app;
  };
  const ask = (withOurs: boolean, query = ""): (() => Promise<unknown>) => {
    const app = host(withOurs);
    return async () => (await app.fetch(new Request(`${RECORDS}${query}`))).text();
  };
  const unpacked = (withOurs: boolean): (() => Promise<unknown>) => {
    const app = host(withOurs);
    return async () => {
      const response = await app.fetch(new Request(`${RECORDS}?packed`));
      return gunzipSync(await response.arrayBuffer());
    };
  };
  const goals = [{ of: BARE, atMost: 1.15 }];
  return [
    { name: BARE, run: ask(false), batch: 20 },
    { name: "with the middleware", run: ask(true), batch: 20, goals },
    { name: "bare Hono, packed, with its reader", run: unpacked(false), batch: 20 },
    { name: "with the middleware, packed, with its reader", run: unpacked(true), batch: 20 },
  ];
}

/** Streams whose first record is there at once, and the second after 500 ms: the time to the first. */
async function firstBytes({ rounds }: Options): Promise<Figure[]> {
  const contestants = [
    { name: "plain", encoding: null, of: "today" },
    { name: "plain, old fields", encoding: null, of: "old" },
    { name: "packed", encoding: "gzip", of: "today" },
  ] as const;
  const goals = [{ what: "first byte ms", atMost: 20 }];
  const all = contestants.map((one) => ({ ...one, goals, rounds: [] as Round[] }));
  for (let round = 0; round < Math.max(rounds, 9); round++) {
    for (const one of all) one.rounds.push({ "first byte ms": await firstByte(one) });
  }
  return summarise("deprecations: the first byte of a stream", all);
}

async function firstByte({
  encoding,
  of,
}: {
  readonly encoding: "gzip" | null;
  readonly of: "today" | "old";
}): Promise<number> {
  const handle = withDeprecations({ clock: () => Date.UTC(2026, 5, 1) });
  const record = JSON.stringify(of === "old" ? { id: "1", locked: false } : { id: "1" });
  // An encoder sends nothing before it has a block of what hardly packs.
  const noise = `{"n":"${randomBytes(200_000).toString("base64")}"}`;
  const parts = [`{"result":[${record},${noise},`, `${record}],"success":true}`];
  const text = new TextEncoder();
  const source = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(text.encode(parts[0]));
      await new Promise((resolve) => setTimeout(resolve, 500));
      controller.enqueue(text.encode(parts[1]));
      controller.close();
    },
  });
  const stream =
    encoding === null ? source : source.pipeThrough(new CompressionStream(encoding) as never);
  const headers = {
    "content-type": "application/json",
    ...(encoding === null ? {} : { "content-encoding": encoding }),
  };
  const began = performance.now();
  const response = await handle(
    new Request(RECORDS),
    async () => new Response(stream as BodyInit, { headers }),
  );
  const reader = response.body!.getReader();
  await reader.read();
  const ms = performance.now() - began;
  for (;;) if ((await reader.read()).done) break;
  return ms;
}
