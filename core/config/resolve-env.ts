import { invalidRequest } from "../http/api-error.ts";

/** Reads one environment variable; undefined when it is not set. */
export type ReadEnv = (name: string) => string | undefined;

/**
 * Replaces every string `"env:NAME"` of a configuration by the value of the variable `NAME`, so that
 * secrets stay out of the file. A variable that is not set is an error that names the key.
 */
export function resolveEnv(value: unknown, env: ReadEnv, path: string = ""): unknown {
  if (typeof value === "string" && value.startsWith("env:")) {
    const found = env(value.slice(4));
    if (found !== undefined && found !== "") return found;
    throw invalidRequest(
      `Environment variable "${value.slice(4)}", named by "${path}" in the configuration, is not set`,
    );
  }
  if (Array.isArray(value)) return value.map((item, i) => resolveEnv(item, env, `${path}[${i}]`));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        resolveEnv(item, env, path === "" ? key : `${path}.${key}`),
      ]),
    );
  }
  return value;
}
