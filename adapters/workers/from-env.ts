import { platformApi } from "../../core/api.ts";
import { apiOptions, type ImportedPages } from "../../core/config/api-options.ts";
import { parseConfig } from "../../core/config/parse-config.ts";
import type { ContentExtractor } from "../../core/rendering/input/extractor.ts";
import type { PdfEditor } from "../../core/rendering/pdf-edit/pdf-editor.ts";
import { otlpSettings } from "../../core/signals/otlp/otlp-settings.ts";
import type { WorkerBuild } from "./worker.ts";
import { filteredLog } from "../shared/log/line-filter.ts";
import { consoleLog } from "./env/worker-system.ts";
import type { WorkerEnv } from "./env/worker-env.ts";

/** The variables that {@link fromEnv} reads. */
export interface ConfiguredEnv extends WorkerEnv {
  /** The JSON configuration of the command line, as a text variable. Strings "env:NAME" name other variables. */
  readonly CAUSEY_CONFIG?: string;
  /** An API token with every permission; make it a secret. */
  readonly CAUSEY_TOKEN?: string;
  /** The account in every path. @default "local" */
  readonly CAUSEY_ACCOUNT_ID?: string;
}

/** Parts that a Worker imports itself, so that only Workers that use them bundle their packages. */
export interface ImportedParts extends ImportedPages {
  /** Finds the main content for `{"extract": "main"}`: `mainContent` of `causey/rendering/extract`. @default 503 for it */
  readonly extract?: ContentExtractor;
  /** Edits PDFs: `pdfEditor` of `causey/rendering/pdf-edit`. @default 503 for `/pdf/edit` and the field `edit` of `/pdf` */
  readonly editPdf?: PdfEditor;
}

/**
 * Builds the platform from the variables of the Worker: `export default worker(fromEnv)`. Without imported pages it has no
 * console and no description of the API. Throws for an invalid configuration.
 *
 * @example
 * ```ts
 * import { webConsole } from "causey/console";
 * import { type ConfiguredEnv, fromEnv, worker } from "causey/workers";
 * export { CauseyObject } from "causey/workers";
 *
 * export default worker<ConfiguredEnv>((env) => fromEnv(env, { console: webConsole }));
 * ```
 */
export function fromEnv(
  env: ConfiguredEnv,
  { console: pages, openApi, ...parts }: ImportedParts = {},
): WorkerBuild<ConfiguredEnv> {
  const variables: ReadonlyMap<string, unknown> = new Map(Object.entries(env));
  const read = (name: string): string | undefined => {
    const value = variables.get(name);
    return typeof value === "string" ? value : undefined;
  };
  const config = parseConfig(env.CAUSEY_CONFIG ?? "{}", read);
  const telemetry = otlpSettings(read);
  const { CAUSEY_TOKEN: token, CAUSEY_ACCOUNT_ID: accountId } = env;
  const own = token === undefined ? [] : [{ token, permissions: ["*" as const], accounts: ["*"] }];
  const effective = {
    ...config,
    ...(accountId === undefined ? {} : { accountId }),
    tokens: [...own, ...(config.tokens ?? [])],
  };
  return {
    workers: {
      log: filteredLog(consoleLog, config),
      ...(config.bodyBytes === undefined ? {} : { bodyBytes: config.bodyBytes }),
      allowHosts: [...(config.rendering?.allowHosts ?? []), ...(config.webhooks?.allowHosts ?? [])],
    },
    build: (platform) => {
      const options = apiOptions(effective, platform, { console: pages, openApi });
      const rendering = { ...options.rendering, ...parts };
      return platformApi({ ...options, rendering, telemetry });
    },
  };
}
