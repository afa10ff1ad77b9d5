import process from "node:process";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { apiOptions } from "../../../core/config/api-options.ts";
import { webConsole } from "../../../core/console/mod.ts";
import { apiDescription } from "../../../core/openapi/mod.ts";
import type { Log, Platform } from "../../../core/ports.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import { serveMcp } from "../../../core/mcp/serve-mcp.ts";
import { pdfEditor } from "../../../core/rendering/pdf-edit/mod.ts";
import { pdfReader } from "../../../core/rendering/pdf/mod.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import { otlpSettings } from "../../../core/signals/otlp/otlp-settings.ts";
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
  const { config, dataDir } = prepared;
  const { bodyBytes = defaultBodyBytes() } = config;
  const share = Math.floor(bodyBytes / processes);
  const platform = await runtime.open({ config, dataDir, bodyBytes: share, log });
  try {
    return { platform, api: apiOn(platform, prepared, processes) };
  } catch (error) {
    await platform.close();
    throw error;
  }
}

function apiOn(platform: Platform, { config, token }: Prepared, processes: number): PlatformApi {
  const rendering = { ...config.rendering, maxConcurrency: pagesOfEach(config, processes) };
  const pages = { console: webConsole, openApi: apiDescription };
  const options = apiOptions({ ...config, rendering }, platform, pages);
  const own = { token: token.value, permissions: ["*" as const], accounts: ["*"] };
  const telemetry = otlpSettings((name) => process.env[name]);
  return platformApi({
    ...options,
    // Its packages are loaded when they are asked for; where they are not installed, the answer says so.
    rendering: {
      ...options.rendering,
      extract: mainContent,
      readPdf: pdfReader,
      editPdf: pdfEditor,
      mcp: serveMcp,
    },
    search: { ...options.search, mcp: serveMcp, readFile: fileReader },
    telemetry,
    tokens: [own, ...(options.tokens ?? [])],
  });
}
