import process from "node:process";

/** The proxies of the environment, by the variables that curl made customary; small letters win. */
export interface EnvironmentProxy {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
}

/**
 * Reads `HTTP_PROXY` and `HTTPS_PROXY`; undefined without any.
 * @throws Error for a value that is not the address of a proxy; its message omits the value, which may hold a password
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

/**
 * Returns the proxy for a URL, that of a WebSocket too, as undici chooses one for HTTP: null for this machine and for what
 * `NO_PROXY` names. The variables are read once.
 */
export function environmentProxyFor(
  env: Readonly<Record<string, string | undefined>> = process.env,
): (url: string) => URL | null {
  const proxy = environmentProxy(env);
  if (proxy === undefined) return () => null;
  const excepted = (env["no_proxy"] ?? env["NO_PROXY"] ?? "").split(/[,\s]+/).filter(Boolean);
  return (address) => {
    const url = new URL(address);
    const isSecure = url.protocol === "wss:" || url.protocol === "https:";
    const by = isSecure ? (proxy.httpsProxy ?? proxy.httpProxy) : proxy.httpProxy;
    const port = url.port === "" ? (isSecure ? "443" : "80") : url.port;
    const host = plainHost(url.hostname);
    const isDirect = isLoopback(address) || excepted.some((entry) => names(entry, host, port));
    return by === undefined || isDirect ? null : new URL(by);
  };
}

/** Whether an entry of `NO_PROXY` names a host: itself and all below it, with a port only there. */
function names(entry: string, host: string, port: string): boolean {
  // An entry with more than one colon is an IPv6 address without brackets.
  const [, name = entry, only] = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
  if (only !== undefined && only !== port) return false;
  if (name === "*") return true;
  const parent = plainHost(name.replace(/^\*?\./, ""));
  return (host === parent && !name.startsWith("*")) || host.endsWith(`.${parent}`);
}

/** In small letters, without brackets and the dot of the root. */
function plainHost(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[(.+)\]$/, "$1")
    .replace(/(.)\.$/, "$1");
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
    `The environment variable ${name} is not the address of a proxy: write it like http://proxy.example:3128`,
  );
}

/** Whether a URL names this machine, which no proxy can stand in for. */
export function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return /^(?:(?:.+\.)?localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host);
}
