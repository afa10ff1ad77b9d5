import { availableParallelism } from "node:os";
import { platformApi } from "../../core/api.ts";
import { apiOptions } from "../../core/config/api-options.ts";
import type { Platform } from "../../core/ports.ts";
import type { LocalPlatformOptions } from "../shared/local-platform.ts";
import { bannerLines } from "./banner.ts";
import { seedDemo } from "./demo.ts";
import { prepare, type Prepared } from "./prepare.ts";
import { loadRuntime } from "./runtime.ts";

/** `causey serve`: opens the platform, seeds the demo, listens, and prints the start lines. */
export async function serveCommand(
  flags: ReadonlyMap<string, string>,
  version: string,
): Promise<void> {
  const prepared = prepare(flags, (name) => process.env[name]);
  const runtime = await loadRuntime();
  const platform = await runtime.open(platformOptions(prepared));
  try {
    const api = app(prepared, platform);
    const { host, port, accountId, token, config, demoSecret } = prepared;
    if (demoSecret !== null) {
      // In process and before the port opens, so that every line printed below works at once.
      await seedDemo({
        fetch: (request) => api.fetch(request),
        url: "http://127.0.0.1",
        token: token.value,
        accountId,
      });
    }
    const served = await runtime.serve(api, {
      port,
      hostname: host,
      platform,
      ...(config.graceMs === undefined ? {} : { graceMs: config.graceMs }),
    });
    const browser = (await platform.browser.describe?.()) ?? String(platform.capabilities.browser);
    const lines = bannerLines(prepared, {
      version,
      runtime: runtime.name,
      url: served.url,
      browser,
    });
    process.stdout.write(`${lines.join("\n")}\n`);
    // Unpacking the npm browser takes seconds, once: not at the expense of the first page. Nobody waits for
    // it, so that a server stopped at once ends at once.
    void prepareBrowser(platform);
  } catch (error) {
    await platform.close();
    throw error;
  }
}

async function prepareBrowser({ browser, log }: Platform): Promise<void> {
  try {
    await browser.prepare?.();
  } catch (error) {
    log("warn", "The browser is not ready", { error: String(error) });
  }
}

function app({ config, token }: Prepared, platform: Platform): ReturnType<typeof platformApi> {
  const rendering = { maxConcurrency: availableParallelism(), ...config.rendering };
  const options = apiOptions({ ...config, rendering }, platform);
  const own = { token: token.value, permissions: ["*"], accounts: ["*"] };
  return platformApi({ ...options, tokens: [own, ...(options.tokens ?? [])] });
}

function platformOptions({ config, dataDir }: Prepared): LocalPlatformOptions {
  const { rendering, webhooks, synchronous, graceMs } = config;
  return {
    dataDir,
    // Apart, so that a page cannot reach what only deliveries may.
    allowHosts: webhooks?.allowHosts ?? [],
    browserAllowHosts: rendering?.allowHosts ?? [],
    ...(synchronous === undefined ? {} : { synchronous }),
    ...(graceMs === undefined ? {} : { closeGraceMs: graceMs }),
    ...(rendering?.chromiumPath === undefined ? {} : { chromiumPath: rendering.chromiumPath }),
    ...(rendering?.endpoint === undefined ? {} : { browserEndpoint: rendering.endpoint }),
    ...(rendering?.noSandbox === undefined ? {} : { noSandbox: rendering.noSandbox }),
  };
}
