import process from "node:process";

/** The proxies of the environment, by the variables that curl made customary; small letters win. */
export interface EnvironmentProxy {
  /** For `http://`. */
  readonly httpProxy?: string;
  /** For `https://`. */
  readonly httpsProxy?: string;
}

/**
 * Reads `HTTP_PROXY` and `HTTPS_PROXY`; undefined without any.
 *
 * @throws Error for a value that is no address of a proxy; it does not show the value, which may hold a password
 */
export function environmentProxy(
  env: Readonly<Record<string, string | undefined>> = process.env,
): EnvironmentProxy | undefined {
  const httpProxy = proxyIn(env, "HTTP_PROXY");
  const httpsProxy = proxyIn(env, "HTTPS_PROXY");
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  return {
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
  };
}

function proxyIn(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  const value = env[name.toLowerCase()] ?? env[name] ?? "";
  if (value === "") return undefined;
  // Without a scheme it is HTTP, as for curl.
  const url = URL.parse(value.includes("://") ? value : `http://${value}`);
  if (url !== null && /^(?:https?|socks5?):$/.test(url.protocol)) return url.href;
  throw new Error(
    `The environment variable ${name} is no address of a proxy, such as http://proxy.example:3128`,
  );
}

/** Whether a URL names this machine, which no proxy can stand in for. */
export function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host);
}
