import { secretsIn } from "../../../core/config/secrets-in-environment.ts";
import type { ReadEnv } from "../../../core/config/resolve-env.ts";
import { settings, type WrittenConfig } from "../context/settings.ts";

/** One setting that holds, as people may see it. */
export interface ShownSetting {
  /** Dotted path, e.g. `gateway.providers.openai.apiKey`. */
  readonly key: string;
  readonly value: string | number | boolean | null;
  /** A flag, a variable, a file, or `default`. */
  readonly source: string;
}

const HIDDEN = "(hidden)";

/** Texts below these are secrets, whatever they are named there. */
const secretBranches = new Set(
  "apiKey entitySecrets formerMasterKeys headers keys masterKey masterSecret secret secrets token".split(
    " ",
  ),
);

/** Branches that hold days, modes and ids of tokens alone. */
const plainBranches = new Set(["deprecations"]);

/** Keys whose texts are shown. Any other text is hidden, so that a new key cannot reveal a secret by mistake. */
const plainKeys = new Set(
  (
    "$schema accountId accounts accountsClaim advertise agent algorithms allowHosts audience baseUrl chromiumPath claim clock database dataDir debug " +
    "endpoint entities fallbackEntity formerNames from gateway gateways group header host issuer jwksUrl lacks listen log logLevel mode " +
    "aliases limitType models on_unknown owner tags team technique window expires_at " +
    "model mountPath name origins path permissions processes provider publicUrl respond scheme synchronous"
  ).split(" "),
);

/**
 * Lists every setting of a configuration with where it comes from; secrets are hidden, references to the environment are
 * not.
 */
export function shownConfig({ value, sources, path }: WrittenConfig, env: ReadEnv): ShownSetting[] {
  const file = path ?? "file";
  const shown = [...leavesOf(value)].map(({ keys, leaf }): ShownSetting => {
    const key = keys.join(".");
    // One flag gives a whole list.
    const named = keys.filter((one) => !/^\d+$/u.test(one)).join(".");
    return { key, value: shownValue(keys, leaf), source: sources.get(named) ?? file };
  });
  const outranked = secretsIn(env).map(({ path: key, variable: source }): ShownSetting => ({
    key,
    value: HIDDEN,
    source,
  }));
  const given = [
    ...shown.filter(({ key }) => !outranked.some((one) => one.key === key)),
    ...outranked,
  ];
  const defaults = settings
    .filter((one) => one.default !== undefined && !given.some(({ key }) => key === one.key))
    .map((one): ShownSetting => ({ key: one.key, value: one.default ?? "", source: "default" }));
  return [...given, ...defaults].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

interface Leaf {
  readonly keys: readonly string[];
  readonly leaf: unknown;
}

function* leavesOf(value: unknown, keys: readonly string[] = []): Generator<Leaf> {
  if (typeof value !== "object" || value === null) return void (yield { keys, leaf: value });
  const inner = Object.entries(value);
  if (inner.length === 0 && keys.length === 0) return;
  if (inner.length === 0) return void (yield { keys, leaf: Array.isArray(value) ? "[]" : "{}" });
  for (const [key, item] of inner) yield* leavesOf(item, [...keys, key]);
}

function shownValue(keys: readonly string[], leaf: unknown): ShownSetting["value"] {
  if (typeof leaf === "number" || typeof leaf === "boolean" || leaf === null) return leaf;
  const text = typeof leaf === "string" ? leaf : "";
  // The name of a variable, not what is in it.
  if (/^env:\w+$/u.test(text) || text === "[]" || text === "{}") return text;
  if (plainBranches.has(keys[0] ?? "")) return text;
  const name = keys.findLast((key) => !/^\d+$/u.test(key)) ?? "";
  if (keys.some((key) => secretBranches.has(key)) || !plainKeys.has(name)) return HIDDEN;
  return shownAddress(text);
}

/** Returns an address without its user, password, query and fragment, all of which may hold a credential. */
export function shownAddress(text: string): string {
  const url = /^[a-z]+:\/\//iu.test(text) ? URL.parse(text) : null;
  if (url === null || url.username + url.password + url.search + url.hash === "") return text;
  return `${url.protocol}//${url.host}${url.pathname} (rest hidden)`;
}
