import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "./at-exit.ts";
import type { Call } from "./load.ts";
import { runtimes } from "./servers.ts";

/** The token that every benchmarked causey knows; it has every permission. */
export const TOKEN = "bench-token-0123456789abcdef";

const serve = {
  Node: ["dist/cli/main.js", "serve"],
  Deno: denoServe(),
  Bun: ["adapters/cli/main.ts", "serve"],
} as const;

/** What follows `deno run -A` in Deno's own task, which has V8's flags. */
function denoServe(): readonly string[] {
  const manifest = readFileSync(new URL("../../deno.json", import.meta.url), "utf8");
  const { tasks } = JSON.parse(manifest) as { tasks: { serve: string } };
  return tasks.serve.split(" ").slice(4);
}

/** V8's flags for a server on Deno. */
export function denoFlags(): readonly string[] {
  return denoServe().filter((word) => word.startsWith("--v8-flags="));
}

/**
 * The product as a user starts it, on a runtime, with a configuration of its own, and a data folder unless one is given: on Node what npm
 * ships, on Deno and Bun the sources.
 */
export function causeyCommand(
  runtime: keyof typeof runtimes,
  config: object,
  dataDir?: string,
): { command: readonly [string, ...string[]]; env: Readonly<Record<string, string>> } {
  const folder = mkdtempSync(join(tmpdir(), "causey-bench-"));
  atExit(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "causey.json");
  // What signals cost is `bench/signals.ts`.
  const quiet = { demo: false, log: "off", metrics: false };
  writeFileSync(file, JSON.stringify({ ...quiet, ...config }));
  const settings = ["--port", "0", "--data-dir", dataDir ?? join(folder, "data"), "--config", file];
  return {
    command: [...runtimes[runtime], ...serve[runtime], ...settings],
    // Nothing is rendered: unpacking the npm browser would be measured instead.
    env: { CAUSEY_TOKEN: TOKEN, CAUSEY_CHROMIUM_PATH: process.execPath },
  };
}

/** Makes a gateway whose rate limit is counted and never reached. */
export function makeGateway(settings: object = {}): Call {
  return {
    path: "/client/v4/accounts/local/ai-gateway/gateways",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({
      id: "bench",
      authentication: true,
      collect_logs: true,
      cache_invalidate_on_update: false,
      cache_ttl: 0,
      rate_limiting_interval: 10,
      rate_limiting_limit: 1_000_000,
      rate_limiting_technique: "fixed",
      ...settings,
    }),
  };
}
