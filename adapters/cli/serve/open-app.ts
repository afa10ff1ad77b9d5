import process from "node:process";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { apiOptions } from "../../../core/config/api-options.ts";
import type { Log, Platform } from "../../../core/ports.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import { pdfReader } from "../../../core/rendering/pdf/mod.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import { serveMcp } from "../../../core/search/mcp/mod.ts";
import { otlpSettings } from "../../../core/signals/otlp/otlp-settings.ts";
import type { LocalPlatformOptions } from "../../shared/local-platform.ts";
import { defaultBodyBytes } from "../../shared/work/memory-limit.ts";
import type { Prepared } from "./prepare.ts";
import { pagesOfEach } from "../config/process-count.ts";
import type { Runtime } from "../context/runtime.ts";

/** The app that `causey serve` serves. */
export interface OpenApp {
  readonly platform: Platform;
  readonly api: PlatformApi;
}

/** Opens the platform, and the API on it. Of `processes` each renders its part of the pages. */
export async function openApp(
  prepared: Prepared,
  runtime: Runtime,
  processes: number,
  log: Log,
): Promise<OpenApp> {
  const platform = await runtime.open({ ...platformOptions(prepared, processes), log });
  try {
    return { platform, api: apiOn(platform, prepared, processes) };
  } catch (error) {
    await platform.close();
    throw error;
  }
}

function apiOn(platform: Platform, { config, token }: Prepared, processes: number): PlatformApi {
  const rendering = { ...config.rendering, maxConcurrency: pagesOfEach(config, processes) };
  const options = apiOptions({ ...config, rendering }, platform);
  const own = { token: token.value, permissions: ["*" as const], accounts: ["*"] };
  const telemetry = otlpSettings((name) => process.env[name]);
  return platformApi({
    ...options,
    // Its packages are loaded when they are asked for; where they are not installed, the answer says so.
    rendering: { ...options.rendering, extract: mainContent, readPdf: pdfReader },
    search: { ...options.search, mcp: serveMcp, readFile: fileReader },
    telemetry,
    tokens: [own, ...(options.tokens ?? [])],
  });
}

/** Where the state is, if not in the folder. */
function stateOptions({
  cluster,
  database,
}: Prepared["config"]): Pick<LocalPlatformOptions, "cluster" | "database"> {
  if (database === undefined) return {};
  return cluster === undefined ? { database } : { cluster, database };
}

function platformOptions({ config, dataDir }: Prepared, processes: number): LocalPlatformOptions {
  const { rendering, webhooks, synchronous, graceMs, bodyBytes = defaultBodyBytes() } = config;
  return {
    dataDir,
    ...stateOptions(config),
    // Apart, so that a page cannot reach what only deliveries may.
    allowHosts: webhooks?.allowHosts ?? [],
    browserAllowHosts: rendering?.allowHosts ?? [],
    ...(synchronous === undefined ? {} : { synchronous }),
    bodyBytes: Math.floor(bodyBytes / processes),
    ...(graceMs === undefined ? {} : { closeGraceMs: graceMs }),
    ...(rendering?.chromiumPath === undefined ? {} : { chromiumPath: rendering.chromiumPath }),
    ...(rendering?.endpoint === undefined ? {} : { browserEndpoint: rendering.endpoint }),
    ...(rendering?.noSandbox === undefined ? {} : { noSandbox: rendering.noSandbox }),
  };
}
