import { isObject } from "../http/json.ts";
import type { ReadEnv } from "./resolve-env.ts";

/** The variable that gives the master key of stored secrets; never a flag, which every user of a machine can read. */
const MASTER_KEY_VARIABLE = "CAUSEY_MASTER_KEY";

/** The variable that gives the secret by which the servers of a database trust each other; never a flag either. */
const CLUSTER_SECRET_VARIABLE = "CAUSEY_CLUSTER_SECRET";

/** The keys that such a variable gives. */
const SECRETS = [
  { variable: MASTER_KEY_VARIABLE, part: "gateway", key: "masterKey" },
  { variable: CLUSTER_SECRET_VARIABLE, part: "cluster", key: "secret" },
] as const;

/** A secret that a variable gives. */
export interface SecretInEnvironment {
  readonly variable: string;
  /** Dotted path in the configuration. */
  readonly path: string;
}

export function secretsIn(env: ReadEnv): SecretInEnvironment[] {
  const given = SECRETS.filter(({ variable }) => (env(variable) ?? "") !== "");
  return given.map(({ variable, part, key }) => ({ variable, path: `${part}.${key}` }));
}

/** A configuration whose secrets are those of the environment, where there are some. */
export function withSecrets(value: unknown, env: ReadEnv): unknown {
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = { ...value };
  for (const { variable, part, key } of SECRETS) {
    const secret = env(variable) ?? "";
    const own = value[part] ?? {};
    // The schema will report any other value.
    if (secret !== "" && isObject(own)) result[part] = { ...own, [key]: secret };
  }
  return result;
}
