import { ApiError, invalidRequest } from "../../../core/http/api-error.ts";
import { fromJson } from "../../../core/http/fields/from-json.ts";
import { didYouMean } from "../../../core/text/nearest.ts";
import { parseConfig } from "../../../core/config/parse-config.ts";
import type { ReadEnv } from "../../../core/config/resolve-env.ts";
import type { Config } from "../../../core/config/config.ts";

/** One setting of the command: a flag, its environment twin and its path in the configuration file. */
export interface Setting {
  readonly flag: string;
  readonly env?: string;
  /** Dotted path in the configuration. */
  readonly key: string;
  readonly kind: "text" | "integer" | "count" | "negative" | "list";
  readonly value?: string;
  readonly default?: string;
  readonly help: string;
}

/** Every flag of `causey serve`, in the order of the help text. Flag > environment > file > default. */
export const settings: readonly Setting[] = [
  {
    flag: "port",
    env: "CAUSEY_PORT",
    key: "port",
    kind: "integer",
    value: "N",
    default: "8787",
    help: "Port to listen on; 0 takes any free port",
  },
  {
    flag: "host",
    env: "CAUSEY_HOST",
    key: "host",
    kind: "text",
    value: "HOST",
    default: "127.0.0.1",
    help: "Address to listen on; 0.0.0.0 is every network",
  },
  {
    flag: "data-dir",
    env: "CAUSEY_DATA_DIR",
    key: "dataDir",
    kind: "text",
    value: "DIR",
    default: ".causey",
    help: "Folder of the database, the token and the browser",
  },
  {
    flag: "database",
    env: "CAUSEY_DATABASE_URL",
    key: "database",
    kind: "text",
    value: "URL",
    default: "SQLite in the folder",
    help: "PostgreSQL database for the state: postgres://…",
  },
  {
    flag: "cluster-listen",
    env: "CAUSEY_CLUSTER_LISTEN",
    key: "cluster.listen",
    kind: "text",
    value: "HOST:PORT",
    default: "127.0.0.1, any free port",
    help: "Where other servers of the database call this one",
  },
  {
    flag: "cluster-advertise",
    env: "CAUSEY_CLUSTER_ADVERTISE",
    key: "cluster.advertise",
    kind: "text",
    value: "HOST",
    default: "the host of --cluster-listen",
    help: "Host by which other servers reach this one",
  },
  {
    flag: "processes",
    env: "CAUSEY_PROCESSES",
    key: "processes",
    kind: "count",
    value: "N",
    default: "1",
    help: "Processes that share the port (Linux); auto is one per core",
  },
  {
    flag: "account-id",
    env: "CAUSEY_ACCOUNT_ID",
    key: "accountId",
    kind: "text",
    value: "ID",
    default: "local",
    help: "The account in every path",
  },
  {
    flag: "synchronous",
    env: "CAUSEY_SYNCHRONOUS",
    key: "synchronous",
    kind: "text",
    value: "MODE",
    default: "FULL",
    help: "FULL survives power loss, NORMAL a killed process",
  },
  {
    flag: "grace-ms",
    env: "CAUSEY_GRACE_MS",
    key: "graceMs",
    kind: "integer",
    value: "MS",
    default: "10000",
    help: "How long a shutdown waits for requests under way",
  },
  {
    flag: "log",
    env: "CAUSEY_LOG",
    key: "log",
    kind: "text",
    value: "FORM",
    default: "pretty on a terminal, else json",
    help: "A line for each request and event: json, pretty or off",
  },
  {
    flag: "log-level",
    env: "CAUSEY_LOG_LEVEL",
    key: "logLevel",
    kind: "text",
    value: "LEVEL",
    default: "info",
    help: "debug, info, warn or error; lower levels are left out",
  },
  {
    flag: "debug",
    env: "CAUSEY_DEBUG",
    key: "debug",
    kind: "list",
    value: "PARTS",
    help: "Log more of these parts, such as gateway,search",
  },
  {
    flag: "no-metrics",
    env: "CAUSEY_NO_METRICS",
    key: "metrics",
    kind: "negative",
    help: "Count nothing for /metrics and the console",
  },
  {
    flag: "no-console",
    env: "CAUSEY_NO_CONSOLE",
    key: "console",
    kind: "negative",
    help: "Leave out the web console at /console",
  },
  {
    flag: "chromium-path",
    env: "CAUSEY_CHROMIUM_PATH",
    key: "rendering.chromiumPath",
    kind: "text",
    value: "FILE",
    default: "found on PATH, else from npm",
    help: "Browser for page rendering",
  },
  {
    flag: "no-demo",
    env: "CAUSEY_NO_DEMO",
    key: "demo",
    kind: "negative",
    help: "Leave out the demo instance, provider and webhook source",
  },
];

/** Folder, address and account that hold when nothing else is said. */
export const defaults: {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly accountId: string;
} = {
  port: 8787,
  host: "127.0.0.1",
  dataDir: ".causey",
  accountId: "local",
};

export interface CommandLine {
  readonly command: string;
  /** Values by flag name, as they were written. */
  readonly flags: ReadonlyMap<string, string>;
}

const switches: readonly string[] = [
  ...settings.filter((one) => one.kind === "negative").map((one) => one.flag),
  "help",
  "version",
];
const valued: readonly string[] = [
  ...settings.filter((one) => one.kind !== "negative").map((one) => one.flag),
  "config",
];

/**
 * Splits arguments into a command and flags (`--port 1`, `--port=1`, `--no-demo`); unknown ones are an error. Commands
 * with options of their own are those of `first`: they stand before all else.
 */
export function parseCommandLine(
  args: readonly string[],
  commands: readonly string[],
  first: readonly string[] = [],
): CommandLine {
  const flags = new Map<string, string>();
  let command: string | undefined;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "-h" || arg === "-v") flags.set(arg === "-h" ? "help" : "version", "true");
    else if (arg.startsWith("--")) i += takeFlag(arg.slice(2), args[i + 1], flags);
    else if (command === undefined && commands.includes(arg)) command = arg;
    // `causey help serve` prints what `causey help` does.
    else if (command !== "help" || !commands.includes(arg))
      throw misplaced(arg, command, { commands, first });
  }
  return { command: command ?? commands[0] ?? "", flags };
}

/** Explains a word that is not an option and stands where a command is not allowed. */
function misplaced(
  arg: string,
  command: string | undefined,
  { commands, first }: { readonly commands: readonly string[]; readonly first: readonly string[] },
): Error {
  if (commands.includes(arg))
    return invalidRequest(`"${arg}" is a second command, after "${command}": write one of them`);
  if (first.includes(arg)) return invalidRequest(`Put the command "${arg}" before its options`);
  return invalidRequest(`Unknown command "${arg}"${didYouMean(arg, [...commands, ...first])}`);
}

/** Records one flag and returns how many further arguments it took. */
function takeFlag(text: string, next: string | undefined, flags: Map<string, string>): number {
  const equals = text.indexOf("=");
  const name = equals < 0 ? text : text.slice(0, equals);
  const isSwitch = switches.includes(name);
  if (!isSwitch && !valued.includes(name)) {
    throw invalidRequest(`Unknown option "--${name}"${didYouMean(name, [...valued, ...switches])}`);
  }
  if (equals >= 0 || isSwitch) {
    flags.set(name, equals < 0 ? "true" : text.slice(equals + 1));
    return 0;
  }
  if (next === undefined || next.startsWith("--")) {
    throw invalidRequest(`Option "--${name}" needs a value`);
  }
  flags.set(name, next);
  return 1;
}

/** A configuration as it was written, before references to the environment are resolved, and where its parts come from. */
export interface WrittenConfig {
  readonly value: Readonly<Record<string, unknown>>;
  /** The flag or variable that gave a key of {@link settings}; all else is of the file. */
  readonly sources: ReadonlyMap<string, string>;
  /** The file's path; undefined without one. */
  readonly path: string | undefined;
}

/**
 * Returns the configuration that holds: flags over environment over the file over defaults. `readText` reads the file named
 * by `--config` or `CAUSEY_CONFIG`.
 */
export function effectiveConfig(
  flags: ReadonlyMap<string, string>,
  env: ReadEnv,
  readText: (path: string) => string,
): Config {
  return parseConfig(writtenConfig(flags, env, readText).value, env);
}

/** Does the same without the check. */
export function writtenConfig(
  flags: ReadonlyMap<string, string>,
  env: ReadEnv,
  readText: (path: string) => string,
): WrittenConfig {
  const path = flags.get("config") ?? env("CAUSEY_CONFIG");
  const config: unknown = path === undefined ? {} : fromFile(path, readText);
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    throw invalidRequest(`The configuration file "${path}" does not hold a JSON object`);
  }
  let value: Record<string, unknown> = { ...config };
  const sources = new Map<string, string>();
  for (const setting of settings) {
    const fromEnv = setting.env === undefined ? undefined : env(setting.env);
    const isSet = fromEnv !== "" && !(setting.kind === "integer" && isServiceLink(fromEnv));
    const text = flags.get(setting.flag) ?? (isSet ? fromEnv : undefined);
    if (text === undefined) continue;
    const name = flags.has(setting.flag) ? `--${setting.flag}` : (setting.env ?? "");
    sources.set(setting.key, name);
    value = withKey(value, setting.key.split("."), convert(setting, text, name));
  }
  return { value, sources, path };
}

/**
 * Whether a variable is Kubernetes' own: it sets `CAUSEY_PORT=tcp://10.0.0.1:8787` in every pod beside a service that is called
 * `causey` (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
 */
export function isServiceLink(text: string | undefined): boolean {
  return text !== undefined && /^(?:tcp|udp|sctp):\/\//u.test(text);
}

function fromFile(path: string, readText: (path: string) => string): unknown {
  let text: string;
  try {
    text = readText(path);
  } catch (cause) {
    throw new ApiError("invalid_request", {
      message: `Cannot read the configuration file "${path}"`,
      cause,
    });
  }
  return fromJson(text, `"${path}"`);
}

function convert(setting: Setting, text: string, name: string): unknown {
  if (setting.kind === "list") return listOf(text);
  if (setting.kind === "text" || (setting.kind === "count" && text === "auto")) return text;
  if (setting.kind !== "negative") {
    if (/^\d{1,9}$/.test(text)) return Number(text);
    const expected = setting.kind === "count" ? 'an integer or "auto"' : "an integer";
    throw invalidRequest(`${name}: expected ${expected}, got "${text}"`);
  }
  if (!["true", "false", "1", "0"].includes(text)) {
    throw invalidRequest(`${name}: expected true or false, got "${text}"`);
  }
  return text === "false" || text === "0";
}

/** `CAUSEY_DEBUG=1` names no part: it only adds stacks to errors of the start. */
function listOf(text: string): readonly string[] {
  return text === "1" ? [] : text.split(",").map((name) => name.trim());
}

function withKey(
  target: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): Record<string, unknown> {
  const [first = "", ...rest] = path;
  if (rest.length === 0) return { ...target, [first]: value };
  const inner = target[first];
  const nested = typeof inner === "object" && inner !== null ? { ...inner } : {};
  return { ...target, [first]: withKey(nested, rest, value) };
}
