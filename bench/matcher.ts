// Matching a request against the deprecated routes: Hono's two general routers beside causey's trie (which also knows
// the live routes beside its templates), on hits and on misses; then a whole Hono app with a middleware that does
// nothing and with causey's, on a route that is not deprecated. One operation of the first two is one match.
import { Hono } from "hono";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import { matcher } from "../core/deprecations/table/matcher.ts";
import { deprecationsMiddleware } from "../core/deprecations/mod.ts";
import { pathEnd, pathStart } from "../core/deprecations/translate/pathname.ts";
import { deprecationTable } from "../core/deprecations/table/table.ts";
import type { Figure, Goal } from "./harness/figure.ts";
import { compareFunctions, type FunctionContestant } from "./harness/functions.ts";
import type { Options } from "./harness/options.ts";

const ROOT = "/client/v4";

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
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const hitGoals = [
    { of: "Hono RegExpRouter", atMost: 1.2 },
    { of: "Hono TrieRouter", atMost: 0.6 },
    { atMost: 1 },
  ];
  yield await compareFunctions("matcher: hit", matchers(hits, hitGoals), options);
  yield await compareFunctions("matcher: miss", matchers(misses, [{ atMost: 0.3 }]), options);
  yield await compareFunctions("matcher: a whole app", apps(), options);
}

function matchers(paths: readonly string[], goals: readonly Goal[]): FunctionContestant[] {
  const general = [new RegExpRouter<string>(), new TrieRouter<string>()].map((router) => {
    for (const { methods, path, id } of deprecationTable) {
      if (path === null || path.includes("*")) continue;
      // Hono refuses two names at the same place.
      let depth = 0;
      const route = path.replaceAll(/\{[^}]*\}/g, () => `:p${depth++}`);
      for (const method of methods) router.add(method, route, id);
    }
    const run = (n: number): unknown => router.match("GET", paths[n % paths.length]!);
    return { name: `Hono ${router.name}`, run, batch: 10_000 };
  });
  const match = matcher(deprecationTable);
  const urls = paths.map((path) => `http://127.0.0.1:8787${ROOT}${path}`);
  const run = (n: number): unknown => {
    const url = urls[n % urls.length]!;
    const start = pathStart(url);
    return match("GET", url, start + ROOT.length, pathEnd(url, start));
  };
  return [...general, { name: "causey, from the whole URL", goals, run, batch: 10_000 }];
}

function apps(): FunctionContestant[] {
  const path = `${ROOT}/user/tokens/verify`;
  const bare = new Hono().get(path, (c) => c.text("ok"));
  const idle = new Hono().use(`${ROOT}/*`, (_, next) => next()).get(path, (c) => c.text("ok"));
  const signalled = new Hono()
    .use(`${ROOT}/*`, deprecationsMiddleware({ clock: () => 0 }))
    .get(path, (c) => c.text("ok"));
  const get = (app: Hono) => () => app.fetch(new Request(`http://x${path}`));
  return [
    { name: "bare Hono", run: get(bare), batch: 500 },
    { name: "with a middleware that does nothing", run: get(idle), batch: 500 },
    { name: "with causey's middleware", run: get(signalled), batch: 500 },
  ];
}
