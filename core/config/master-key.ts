import { isObject } from "../http/json.ts";
import type { ReadEnv } from "./resolve-env.ts";

/** The variable that gives the master key of stored secrets; never a flag, which every user of a machine can read. */
export const MASTER_KEY_VARIABLE: string = "CAUSEY_MASTER_KEY";

/** A configuration whose `gateway.masterKey` is that of the environment, when there is one. */
export function withMasterKey(value: unknown, env: ReadEnv): unknown {
  const masterKey = env(MASTER_KEY_VARIABLE);
  if (masterKey === undefined || masterKey === "" || !isObject(value)) return value;
  const gateway = value["gateway"] ?? {};
  // The schema will report any other value.
  return isObject(gateway) ? { ...value, gateway: { ...gateway, masterKey } } : value;
}
