import type { ReadEnv } from "../../../core/config/resolve-env.ts";
import { invalidRequest } from "../../../core/http/api-error.ts";
import { didYouMean } from "../../../core/text/nearest.ts";
import { SHARED_PORT } from "./parent-process.ts";
import { settings } from "./settings.ts";

/** Every variable of this name that the command, its scripts and the programs of the README read. */
const known: readonly string[] = [
  ...settings.flatMap(({ env }) => env ?? []),
  "CAUSEY_CLUSTER_SECRET",
  "CAUSEY_CONFIG",
  "CAUSEY_MASTER_KEY",
  "CAUSEY_TOKEN",
  "CAUSEY_WORKERS_ENTRY",
  SHARED_PORT,
];

/** Set by others: by this project's tests, and by Kubernetes beside a service named "causey". */
const FOREIGN =
  /^CAUSEY_(?:TEST_\w+|RUNTIME|(?:\w+_)?SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_\w+)$/;

/** The environment as the configuration reads it: remembers which names that asked for. */
export interface Environment {
  readonly read: ReadEnv;
  /** Throws for a variable `CAUSEY_…` that nothing reads: it was meant to be one that something does. */
  checkNames(): void;
}

/** Watches the environment while a configuration is read. */
export function watchedEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): Environment {
  const named = new Set(known);
  return {
    read(name) {
      named.add(name);
      return variables[name];
    },
    checkNames() {
      const unknown = Object.keys(variables).find(
        (name) => name.startsWith("CAUSEY_") && !named.has(name) && !FOREIGN.test(name),
      );
      if (unknown === undefined) return;
      throw invalidRequest(
        `Unknown environment variable "${unknown}"${didYouMean(unknown, known)}`,
      );
    },
  };
}
