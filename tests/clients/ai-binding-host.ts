import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noBrowser, startTarget, type TargetName } from "../http/target.ts";
import { exitOf, lineWith, start } from "../local/runtimes.ts";

/** A running host program of `ai-binding-app.ts`. */
export interface BindingHost {
  /** Its address, without a slash at the end. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the host program on a runtime. */
export function startBindingHost(target: TargetName, upstreamUrl: string): Promise<BindingHost> {
  return target === "workers" ? inWorkerd(upstreamUrl) : inChild(target, upstreamUrl);
}

async function inChild(
  runtime: Exclude<TargetName, "workers">,
  upstreamUrl: string,
): Promise<BindingHost> {
  const child = start(runtime, "../clients/ai-binding-child.ts", [runtime, upstreamUrl]);
  const line = await lineWith(child, "listening");
  return {
    url: line.slice("listening ".length).trim().replace(/\/$/u, ""),
    async stop() {
      child.kill("SIGTERM");
      await exitOf(child);
    },
  };
}

async function inWorkerd(upstreamUrl: string): Promise<BindingHost> {
  const folder = mkdtempSync(join(tmpdir(), "causey-binding-"));
  const config = join(folder, "causey.json");
  const providers = { openai: { baseUrl: upstreamUrl } };
  writeFileSync(config, JSON.stringify({ gateway: { providers } }));
  const entry = fileURLToPath(new URL("ai-binding-worker.js", import.meta.url));
  const { url, stop } = await startTarget({
    target: "workers",
    args: ["--config", config],
    env: { ...noBrowser, CAUSEY_WORKERS_ENTRY: entry },
  });
  return {
    url,
    async stop() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
