import { ApiError, invalidOptions } from "../../../http/api-error.ts";
import type { GatewayName } from "../../account/settings/gateway-name.ts";
import type { DeclaredModel } from "../../account/settings/declared-models.ts";
import type {
  DeclaredGateway,
  DeclaredGateways,
} from "../../account/settings/declared-gateways.ts";
import { AUTO_MODEL, DYNAMIC, takesPath, unifiedPaths } from "../../providers/unified-step.ts";
import { modelOf } from "../../providers/inference-step.ts";

export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
  /** The alias of its key; undefined = the provider's default one. */
  readonly key: string | undefined;
  readonly weight: number;
  /** Names it among all targets of its gateway. */
  readonly id: string;
}

/** The targets behind one name. */
export interface ModelPool {
  readonly name: string;
  readonly targets: readonly ModelTarget[];
  /** Milliseconds for which a target that cannot serve is passed over. */
  readonly coolDownMs: number;
  /** Whether a caller's own key can be meant for it: one provider, and no key that the operator chose. */
  readonly takesOwnKeys: boolean;
}

/** Pools by their names; undefined for a gateway without any. */
export type ModelPools = (name: GatewayName) => ReadonlyMap<string, ModelPool> | undefined;

const COOL_DOWN_S = 30;

export function modelPools({ gateways, accountId }: DeclaredGateways): ModelPools {
  const all = new Map<string, ReadonlyMap<string, ModelPool>>();
  for (const [id, { models }] of Object.entries(gateways))
    if (models !== undefined) all.set(id, readPools(models));
  if (all.size === 0) return () => undefined;
  return ({ account, gateway }) =>
    accountId === undefined || accountId === account ? all.get(gateway) : undefined;
}

/** Says which of a gateway's names of models is at fault; null for none. */
export function poolProblem({ models = {} }: DeclaredGateway): string | null {
  try {
    readPools(models);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return `models.${error.message}`;
    throw error;
  }
}

function readPools(
  models: Readonly<Record<string, DeclaredModel>>,
): ReadonlyMap<string, ModelPool> {
  return new Map(Object.entries(models).map(([name, given]) => [name, poolOf(name, given)]));
}

function poolOf(name: string, given: DeclaredModel): ModelPool {
  const shown = name.slice(0, 64);
  if (name.startsWith(DYNAMIC) || name === AUTO_MODEL)
    throw invalidOptions(
      `${shown}: "${DYNAMIC}…" and "${AUTO_MODEL}" are names of the gateway itself`,
    );
  const { targets: all, coolDownSeconds = COOL_DOWN_S } =
    typeof given === "string" ? { targets: [{ model: given }] } : given;
  const targets = all.map(({ model: named, key, weight = 1 }): ModelTarget => {
    const { slug: provider, model } = split(named, shown);
    return { provider, model, key, weight, id: JSON.stringify([provider, model, key]) };
  });
  if (new Set(targets.map(({ id }) => id)).size < targets.length)
    throw invalidOptions(`${shown}: a target is there twice: give it the sum of the weights`);
  const isOneProvider = new Set(targets.map(({ provider }) => provider)).size === 1;
  return {
    name,
    targets,
    coolDownMs: coolDownSeconds * 1000,
    takesOwnKeys: isOneProvider && targets.every(({ key }) => key === undefined),
  };
}

function split(named: string, pool: string): ReturnType<typeof modelOf> {
  const found = attempt(named);
  if (found !== null && unifiedPaths.some((path) => takesPath(found.slug, path))) return found;
  throw invalidOptions(
    `${pool}: "${named.slice(0, 128)}": expected "{provider}/{model}" of a provider that the unified endpoint asks`,
  );
}

function attempt(named: string): ReturnType<typeof modelOf> | null {
  try {
    return modelOf(named);
  } catch {
    return null;
  }
}
