import * as v from "valibot";
import { isKeyShaped } from "../../../auth/token-format.ts";
import { LAST_INSTANT } from "../../../http/fields/bounded-number.ts";
import { formatInstant, parseInstant } from "../../../http/fields/instant.ts";
import { isGatewayId } from "../settings/settings.ts";
import { type KeyLimit, keyLimits, modelPattern, strictLimits } from "./key-limit.ts";

export type KeySettings = {
  readonly name: string;
  readonly owner: string | null;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  /** Ids of gateways; null = every gateway of the account. */
  readonly gateways: readonly string[] | null;
  /** `{provider}/{model}`, `*` standing for any text; null = every model. */
  readonly models: readonly string[] | null;
  /** Aliases of the stored provider keys that it may use, `*` = any; null = the default one of each provider. */
  readonly aliases: readonly string[] | null;
  /** `{METHOD} {provider}/{path}`, `*` standing for any method and any text: what it may ask beside inferences. */
  readonly paths: readonly string[];
  readonly limits: readonly KeyLimit[];
  /** The id of the team whose budgets count beside the key's own; null = it has no team. */
  readonly team: string | null;
  /** Whether a request is refused whose cost, if a limit counts cost, or tokens, if one counts tokens, cannot be known. */
  readonly on_unknown: "refuse" | "allow";
  /** Unix ms. */
  readonly expires_at: number | null;
};

/** A virtual key as it is kept. Times are Unix ms, hashes SHA-256 in hexadecimal. */
export type VirtualKey = {
  readonly id: string;
  readonly hash: string;
  /** The hash from before the key was rotated, for as long as that key still works. */
  readonly formerHash: string | null;
  readonly formerUntil: number | null;
  /** The last characters of the key. */
  readonly ending: string;
  readonly settings: KeySettings;
  /** Whether it is one of the configuration, which alone changes it. */
  readonly declared: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly lastUsedAt: number | null;
};

export type LimitUsage = KeyLimit & {
  readonly used: number;
  readonly remaining: number;
  /** When all that counts now has left the window; null for a limit without one, and for nothing. Unix ms. */
  readonly resetsAt: number | null;
};

const text = (most: number) => v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(most));
const INSTANT = 'expected an RFC 3339 date-time such as "2030-01-01T00:00:00Z"';
const instant = v.pipe(
  // A number is what a text was parsed to before, as in a checked configuration.
  v.union([v.string(), v.number()]),
  v.transform((given) => (typeof given === "number" ? given : parseInstant(given))),
  v.number(INSTANT),
  v.minValue(0, INSTANT),
  v.maxValue(LAST_INSTANT, INSTANT),
);
const gateway = v.pipe(v.string(), v.check(isGatewayId, "expected the id of a gateway"));
const alias = v.pipe(
  v.string(),
  v.regex(/^(?:[\w.-]{1,64}|\*)$/, 'expected the alias of a stored key, "default", or "*" for any'),
);
const path = v.pipe(
  v.string(),
  v.regex(
    /^(?:[A-Z]{3,16}|\*) [^\s/]{1,80}\/\S{1,512}$/,
    'expected "{METHOD} {provider}/{path}", such as "GET openai/v1/models", "*" standing for any method and any text',
  ),
);
const list = <T extends v.GenericSchema<unknown, string>>(
  item: T,
  most: number,
  expected: string = "expected at least one, or null for all",
) => v.pipe(v.array(item), v.minLength(1, expected), v.maxLength(most));

const keyName = text(120);

const entries = {
  owner: v.optional(v.nullable(text(120))),
  tags: v.optional(v.pipe(v.array(text(64)), v.maxLength(20))),
  enabled: v.optional(v.boolean()),
  gateways: v.optional(v.nullable(list(gateway, 100))),
  models: v.optional(v.nullable(list(modelPattern, 100))),
  aliases: v.optional(
    v.nullable(list(alias, 100, "expected at least one, or null for the default one")),
  ),
  paths: v.optional(v.pipe(v.array(path), v.maxLength(100))),
  limits: v.optional(keyLimits),
  team: v.optional(v.nullable(text(64))),
  on_unknown: v.optional(v.picklist(["refuse", "allow"])),
  expires_at: v.optional(v.nullable(instant)),
};

/** A body that changes a key; what it leaves out keeps its value. */
export type KeyChange = { readonly [K in keyof KeySettings]?: KeySettings[K] | undefined };

export const keyCreate: v.GenericSchema<unknown, KeyChange & { name: string }> = v.strictObject({
  name: keyName,
  ...entries,
});

export const keyChange: v.GenericSchema<unknown, KeyChange> = v.object({
  name: v.optional(keyName),
  ...entries,
});

/** A virtual key of the configuration: the settings of the management API, and its secret. */
export type DeclaredVirtualKey = KeyChange & {
  /** `causey_vk_…`, as the management API and `causey token virtual-key` make them. */
  readonly secret: string;
};

export const keyDeclared: v.GenericSchema<unknown, DeclaredVirtualKey> = v.strictObject({
  name: v.optional(keyName),
  ...entries,
  limits: v.optional(strictLimits),
  secret: v.pipe(
    v.string(),
    v.check(
      isKeyShaped,
      "expected a virtual key (causey_vk_…): make one with `causey token virtual-key`",
    ),
  ),
});

const LONGEST_GRACE = 31 * 24 * 3600;

/** The body that rotates a key: for how many seconds the former secret still opens. */
export const keyRotation: v.GenericSchema<unknown, { grace_seconds: number }> = v.object({
  grace_seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(LONGEST_GRACE)),
    0,
  ),
});

/** Every gateway, every model, no limit. */
const unset: Omit<KeySettings, "name"> = {
  owner: null,
  tags: [],
  enabled: true,
  gateways: null,
  models: null,
  aliases: null,
  paths: [],
  limits: [],
  team: null,
  on_unknown: "refuse",
  expires_at: null,
};

/** Completes settings with the defaults; keys that were stored before a setting existed get its default, too. */
export function keySettings({ name, ...given }: KeyChange & { name: string }): KeySettings {
  return changed({ name, ...unset }, given);
}

export function changed(settings: KeySettings, change: KeyChange): KeySettings {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...settings, ...Object.fromEntries(given) };
}

/** A key as the API shows it: never the secret, nor its hash. */
export function keyView(key: VirtualKey, usage: readonly LimitUsage[]): Record<string, unknown> {
  const { expires_at: expires, ...shown } = key.settings;
  return {
    id: key.id,
    preview: `causey_vk_…${key.ending}`,
    ...shown,
    declared: key.declared,
    expires_at: instantOf(expires),
    usage: usage.map(limitUsageView),
    former_secret_until: instantOf(key.formerUntil),
    last_used_at: instantOf(key.lastUsedAt),
    created_at: formatInstant(key.createdAt),
    modified_at: formatInstant(key.modifiedAt),
  };
}

export function limitUsageView({ resetsAt, ...counted }: LimitUsage): Record<string, unknown> {
  return { ...counted, resets_at: instantOf(resetsAt) };
}

function instantOf(at: number | null): string | null {
  return at === null ? null : formatInstant(at);
}
