import { readFileSync } from "node:fs";
import type { Config } from "../../../core/config/config.ts";
import { parseConfig } from "../../../core/config/parse-config.ts";
import { checkPermissions } from "../../../core/auth/static-tokens.ts";
import { readOptions } from "../context/command-options.ts";
import { watchedEnvironment } from "../context/environment.ts";
import { processCount } from "./process-count.ts";
import { settings, type WrittenConfig, writtenConfig } from "../context/settings.ts";

/** The input of a command that reads a server's configuration. */
export interface ServeOptionsRead {
  /** Flags of `causey serve`, as they were written. */
  readonly flags: ReadonlyMap<string, string>;
  readonly json: boolean;
  readonly help: boolean;
  readonly positionals: readonly string[];
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Reads the options of `causey serve`, and `--json` and `--help`. */
export function readServeOptions(args: readonly string[]): ServeOptionsRead {
  const options: Record<string, { type: "boolean" | "string" }> = {};
  for (const { flag, kind } of settings)
    options[flag] = { type: kind === "negative" ? "boolean" : "string" };
  const { values, positionals } = readOptions(args, {
    ...options,
    config: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  const { json, help, ...rest } = values;
  const given: Readonly<Record<string, string | boolean | undefined>> = rest;
  const flags = new Map(Object.entries(given).map(([name, value]) => [name, String(value)]));
  return { flags, json: json === true, help: help === true, positionals };
}

/**
 * Returns the configuration that a server would start with, as written and as checked. Throws one line for what a start
 * refuses.
 */
export function checkedConfig(
  flags: ReadonlyMap<string, string>,
  variables: Variables,
): { readonly written: WrittenConfig; readonly config: Config } {
  const environment = watchedEnvironment(variables);
  const written = writtenConfig(flags, environment.read, (path) => readFileSync(path, "utf8"));
  const config = parseConfig(written.value, environment.read);
  environment.checkNames();
  processCount(config);
  for (const { permissions } of config.tokens ?? []) checkPermissions(permissions);
  return { written, config };
}
