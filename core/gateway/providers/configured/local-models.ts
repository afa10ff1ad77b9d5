import type { Platform } from "../../../ports.ts";
import { jsonObject, jsonObjects } from "../../../http/json.ts";
import { TransportError } from "../../../net/transport-error.ts";
import type { StoredProviders } from "../../account/records/stored-providers.ts";
import type { Call } from "../../call/call.ts";
import { recentMap } from "../../../work/recent-map.ts";
import { askedJson } from "../../../http/asked-json.ts";
import { withCredential } from "../credential.ts";
import { type ConfiguredTargets, resolveTarget } from "../target.ts";

/** Lists the models that a server of the operator's own has; empty where it does not say so in time. */
export type LocalModels = (
  slug: string,
  call: Call,
  targets: ConfiguredTargets,
) => Promise<readonly string[]>;

export interface LocalModelsParts {
  readonly platform: Pick<Platform, "transport" | "system">;
  readonly stored: Pick<StoredProviders, "key" | "hasKey">;
}

/** Milliseconds within which a server has to say what it has, and for which its answer is kept. */
const LIST_MS = 2000;
const KEPT_MS = 10_000;
/** Servers whose answers are kept. */
const KEPT = 64;
/** Bounds of an answer: its bytes, its models, and the characters of a name. */
const LIST_BYTES = 1024 * 1024;
const MODELS = 500;
const NAME = /^[!-~]{1,256}$/;

/** Asks servers for their models by `GET /v1/models`, which all of them have. */
export function localModels({ platform, stored }: LocalModelsParts): LocalModels {
  const { transport: via, system } = platform;
  const kept = recentMap<Promise<readonly string[]>>(KEPT, KEPT_MS, system);
  return async (slug, call, targets) => {
    const target = resolveTarget(slug, targets, { rest: "v1/models", query: "" });
    const accept = [["accept", "application/json"]] as const;
    const { headers } = await withCredential(accept, target, call, { stored });
    const key = JSON.stringify([target.url, headers]);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const request = { method: "GET", url: target.url, headers, body: null };
    const asked = askedJson(request, { via, system, ms: LIST_MS, bytes: LIST_BYTES }).then(
      ({ status, value }) => (status === 200 ? namesIn(value) : []),
      (error: unknown) => {
        if (error instanceof TransportError) return [];
        throw error;
      },
    );
    kept.set(key, asked);
    system.waitUntil(asked.catch(() => undefined));
    return asked;
  };
}

function namesIn(answer: unknown): string[] {
  const ids = jsonObjects(jsonObject(answer)["data"]).map(({ id }) => id);
  const names = ids.filter((id): id is string => typeof id === "string" && NAME.test(id));
  return names.slice(0, MODELS);
}
