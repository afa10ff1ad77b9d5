import { ownMember } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { StoredProviders } from "../account/records/stored-providers.ts";
import { isAllowedModel } from "../account/keys/check-model.ts";
import type { Call } from "../call/call.ts";
import { mayUseKeys, servesWithKey } from "../providers/credential.ts";
import { ECHO, isLocal, providers } from "../providers/known/table.ts";
import type { LocalModels } from "../providers/configured/local-models.ts";
import type { ModelPool, ModelPools } from "../routing/pools/model-pools.ts";
import { type ConfiguredTargets, targetsOf } from "../providers/target.ts";
import { AUTO_MODEL, DYNAMIC, takesChats } from "../providers/unified-step.ts";

/** Everything that decides which models a caller may use. */
export interface UsableModelsParts {
  readonly targets: ConfiguredTargets;
  readonly stored: Pick<StoredProviders, "hasKey" | "names">;
  /** Lists the models of servers of the operator's own. */
  readonly localModels: LocalModels;
  /** The operator's names for models. */
  readonly pools: ModelPools;
  /** Whether the automatic router is there. */
  readonly routes: boolean;
}

/** A list of OpenAI's and of Anthropic's: their members have different names, and clients pass over the other's. */
export interface ModelList {
  readonly object: "list";
  readonly data: readonly ListedModel[];
  readonly has_more: false;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

interface ListedModel {
  /** `{provider}/{model}`, as `compat` takes it. */
  readonly id: string;
  readonly object: "model";
  readonly created: number;
  readonly owned_by: string;
  readonly type: "model";
  readonly display_name: string;
  readonly created_at: string;
}

/**
 * Lists the models that a caller may use, with names as `compat` takes them: those with a price at
 * providers that are configured, have a stored key or are custom ones, those that a configured server of the operator's own
 * has, and those that a virtual key names; the operator's own names for any of them; dynamic routes.
 */
export async function usableModels(call: Call, given: UsableModelsParts): Promise<ModelList> {
  const targets = targetsOf(given.targets, call.name);
  const parts = { ...given, targets };
  const { stored, routes } = parts;
  const { custom, routes: named } = await stored.names(call.name);
  const configured = Object.keys(targets.providers);
  const known = [...new Set([...configured, ...custom, ...Object.keys(providers)])];
  const chats = known.filter((slug) => slug !== ECHO && takesChats(slug, "chat/completions"));
  const isThere = await Promise.all(
    chats.map(async (slug) => custom.includes(slug) || (await isUsable(slug, call, parts))),
  );
  const usable = new Set(chats.filter((_, at) => isThere[at]));
  const allowed = call.caller?.grant?.models ?? null;
  const own = await Promise.all(
    [...usable].filter(isLocal).map(async (slug) => {
      const names = await parts.localModels(slug, call, targets);
      return names.map((name) => [slug, name] as const);
    }),
  );
  const models = [
    ...own.flat(),
    ...call.prices.entries().map(({ provider, model }) => [provider, model] as const),
    ...(allowed ?? []).map(split),
  ].filter(
    ([slug, model]) =>
      usable.has(slug) &&
      !model.includes("*") &&
      (allowed === null || isAllowedModel(model, slug, allowed)),
  );
  const pools = [...(parts.pools(call.name)?.values() ?? [])];
  const isReachable = async ({ targets: all }: ModelPool): Promise<boolean> => {
    const reached = all.map(
      async ({ provider, model, key }) =>
        (allowed === null || isAllowedModel(model, provider, allowed)) &&
        (key === undefined
          ? usable.has(provider) || (provider === ECHO && targets.demo)
          : mayUseKeys(call) && (await stored.hasKey(call.name, provider, key))),
    );
    return (await Promise.all(reached)).includes(true);
  };
  const reachable = await Promise.all(pools.map(isReachable));
  const ids = [
    ...pools.filter((_, at) => reachable[at]).map(({ name }) => name),
    ...models.map(([slug, model]) => `${slug}/${model}`),
    ...named.map((name) => DYNAMIC + name),
    ...(routes ? [AUTO_MODEL] : []),
    ...(targets.demo && (allowed === null || isAllowedModel(DEMO, ECHO, allowed))
      ? [`${ECHO}/${DEMO}`]
      : []),
  ];
  const isOurs = (id: string): boolean =>
    id === AUTO_MODEL || id.startsWith(DYNAMIC) || pools.some(({ name }) => name === id);
  const data = [...new Set(ids)].map((id) => listed(id, isOurs(id)));
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, has_more: false, ...ends };
}

/** Returns one model of a list, as OpenAI and Anthropic answer it; throws `not_found` with the nearest name. */
export function oneModel({ data }: ModelList, id: string): ListedModel {
  const found = data.find((one) => one.id === id);
  if (found !== undefined) return found;
  const name = id.slice(0, 128);
  const hint = didYouMean(
    name,
    data.map((one) => one.id),
  );
  throw new ApiError("not_found", {
    message: `There is no model "${name}" in the list of models that you may use${hint}`,
  });
}

const DEMO = "echo-demo";

/** Anthropic's word for an unknown day of release (its SDK, `ModelInfo`). */
const UNKNOWN_DAY = "1970-01-01T00:00:00Z";

/** Whether requests of a call reach a provider without a key of their own. */
async function isUsable(slug: string, call: Call, parts: UsableModelsParts): Promise<boolean> {
  const own = ownMember(parts.targets.providers, slug);
  if (isLocal(slug)) return own !== undefined && mayUseKeys(call);
  // A server of the operator's that needs no key.
  if (own?.baseUrl !== undefined && own.apiKey === undefined) return true;
  return servesWithKey(slug, call, { settings: own, keys: parts.stored });
}

function split(model: string): readonly [string, string] {
  const slash = model.indexOf("/");
  return [model.slice(0, Math.max(0, slash)), model.slice(slash + 1)];
}

function listed(id: string, isOurs: boolean): ListedModel {
  const [owner = ""] = id.split("/");
  const anthropic = { type: "model", display_name: id, created_at: UNKNOWN_DAY } as const;
  return { id, object: "model", created: 0, owned_by: isOurs ? "causey" : owner, ...anthropic };
}
