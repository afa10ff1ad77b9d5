// Matching a request against the 118 deprecated routes: Hono's two general routers beside causey's trie (which also
// knows the live routes beside its templates), on hits and on misses; then a whole Hono app without and with the
// middleware on a route that is not deprecated. One operation of the first two groups is one match.
import { Hono } from "hono";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { matcher } from "../core/deprecations/matcher.ts";
import { deprecationsMiddleware } from "../core/deprecations/mod.ts";
import { pathEnd, pathStart } from "../core/deprecations/pathname.ts";
import { deprecationTable } from "../core/deprecations/table.ts";
import type { Figure } from "./harness.ts";

interface Contestant {
  readonly name: string;
  readonly run: (n: number) => unknown;
}

const hits = [
  "/zones/0123456789abcdef/settings/minify",
  "/zones/0123456789abcdef/firewall/waf/packages/p1/rules/r1",
  "/accounts/0123456789abcdef/devices",
  "/radar/attacks/layer7/top/industry",
  "/organizations/o1/railguns/r1/zones",
  "/user/billing/history",
];
const misses = [
  "/accounts/0123456789abcdef/ai-search/instances/docs/search",
  "/accounts/0123456789abcdef/browser-rendering/pdf",
  "/accounts/0123456789abcdef/devices/physical-devices",
  "/user/tokens/verify",
  "/zones/0123456789abcdef/settings/ssl",
  "/radar/attacks/layer3/top/attacks",
];

/** Runs `matcher`. */
export async function bench(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [group, paths] of Object.entries({ hit: hits, miss: misses })) {
    for (const { name, run } of matchers(paths)) {
      figures.push(await measure(`${group}: ${name}`, run, 20_000));
    }
  }
  for (const { name, run } of apps()) figures.push(await measure(name, run, 500));
  return figures;
}

function matchers(paths: readonly string[]): Contestant[] {
  const general = [new RegExpRouter<string>(), new TrieRouter<string>()].map((router) => {
    for (const { methods, path, id } of deprecationTable) {
      if (path === null || path.includes("*")) continue;
      // Hono refuses two names at the same place.
      let depth = 0;
      const route = path.replaceAll(/\{[^}]*\}/g, () => `:p${depth++}`);
      for (const method of methods) router.add(method, route, id);
    }
    const run = (n: number): unknown => router.match("GET", paths[n % paths.length]!);
    return { name: `Hono ${router.name}`, run };
  });
  const match = matcher(deprecationTable);
  const urls = paths.map((path) => `http://127.0.0.1:8787/client/v4${path}`);
  const run = (n: number): unknown => {
    const url = urls[n % urls.length]!;
    const start = pathStart(url);
    return match("GET", url, start + "/client/v4".length, pathEnd(url, start));
  };
  return [...general, { name: "causey, from the whole URL", run }];
}

function apps(): Contestant[] {
  const bare = new Hono().get("/client/v4/user/tokens/verify", (c) => c.text("ok"));
  const signalled = new Hono()
    .use("/client/v4/*", deprecationsMiddleware({ clock: () => 0 }))
    .get("/client/v4/user/tokens/verify", (c) => c.text("ok"));
  // The floor of the pair: a middleware that does nothing.
  const idle = new Hono()
    .use("/client/v4/*", (_, next) => next())
    .get("/client/v4/user/tokens/verify", (c) => c.text("ok"));
  const get = (app: Hono) => () => app.fetch(new Request("http://x/client/v4/user/tokens/verify"));
  return [
    { name: "app: bare Hono", run: get(bare) },
    { name: "app: with an idle middleware", run: get(idle) },
    { name: "app: with causey's middleware", run: get(signalled) },
  ];
}

/** Runs batches for about a second after a warm-up; latencies are those of the mean operation of a batch. */
async function measure(name: string, run: Contestant["run"], batch: number): Promise<Figure> {
  const once = async (): Promise<void> => {
    for (let n = 0; n < batch; n++) {
      const pending = run(n);
      if (pending instanceof Promise) await pending;
    }
  };
  for (let i = 0; i < 20; i++) await once();
  const means: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  while (performance.now() - started < 1000) {
    const from = performance.now();
    await once();
    means.push((performance.now() - from) / batch);
  }
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - started) / 1000;
  const operations = means.length * batch;
  means.sort((a, b) => a - b);
  return {
    bench: "matcher: 118 deprecated routes",
    contestant: name,
    cpuMicros: (user + system) / operations,
    perSecond: operations / seconds,
    p50: means[Math.floor(means.length / 2)] ?? 0,
    p99: means[Math.floor(means.length * 0.99)] ?? 0,
  };
}
