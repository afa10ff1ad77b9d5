/**
 * The step of a connection that failed: `proxy` = that of the environment, `reset` = the peer ended it before its answer,
 * `unreachable` = another one, or one that the runtime does not name.
 */
export type NetworkFailure =
  | "dns"
  | "refused"
  | "tls"
  | "proxy"
  | "reset"
  | "timeout"
  | "unreachable";

/** A class of failures in words. */
export interface FailureWords {
  /** The class as a sentence without its full stop. */
  readonly detail: string;
  /** The step that helps. */
  readonly hint: string;
}

/** Every class in words: those of answers, logs, rows and `causey doctor`. */
export const failureWords: Readonly<Record<NetworkFailure, FailureWords>> = {
  dns: {
    detail: "The host name could not be resolved",
    hint: "Check the host name, and the DNS of this server",
  },
  refused: {
    detail: "The connection was refused",
    hint: "Check host and port, whether the service runs, and firewalls",
  },
  tls: {
    detail: "The TLS handshake failed",
    hint: "Check that the port speaks HTTPS, and its certificate; name an authority of your own in NODE_EXTRA_CA_CERTS (DENO_CERT on Deno)",
  },
  proxy: {
    detail: "The proxy of the environment did not open the way",
    hint: "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
  },
  reset: {
    detail: "The connection ended before an answer came",
    hint: "Try again; if it stays so, look at the log of the other side",
  },
  timeout: {
    detail: "No answer came in time",
    hint: "Check the network and firewalls, or allow more time",
  },
  unreachable: {
    detail: "The host could not be reached",
    hint: "Check the address, the network and HTTPS_PROXY",
  },
};

/**
 * Codes of errors: https://nodejs.org/api/errors.html, https://nodejs.org/api/dns.html#error-codes,
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes and
 * https://undici.nodejs.org/#/docs/api/Errors. Deno and Bun use the same.
 */
const codes: readonly (readonly [RegExp, NetworkFailure])[] = [
  [/^(?:ENOTFOUND|EAI_[A-Z]+|ENODATA|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|ENONAME)$/, "dns"],
  [/^(?:ECONNREFUSED|ConnectionRefused)$/, "refused"],
  [
    /^(?:EPROTO|CERT_|CRL_|ERR_TLS_|ERR_SSL_|ERR_OSSL|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|UND_ERR_PRX_TLS)/,
    "tls",
  ],
  [/^(?:ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS)_TIMEOUT)$/, "timeout"],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET|ConnectionClosed)$/, "reset"],
];

/** Messages of errors without such a code: undici's and Bun's of proxies, those of Deno's `fetch`, and workerd's. */
const messages: readonly (readonly [RegExp, NetworkFailure])[] = [
  [/\bproxy\b/i, "proxy"],
  [/\bDNS\b/i, "dns"],
  [/\b(?:TLS|SSL|certificate|InvalidContentType)\b/i, "tls"],
  [/\bconnection refused\b/i, "refused"],
  [/\btimed out\b/i, "timeout"],
  [/\b(?:reset by peer|connection closed before)\b/i, "reset"],
];

/** Runtimes repeat addresses, whose path and query may hold a key; their ends are not said. */
const ADDRESS = /\b(https?|wss?):\/\/(?:[^\s/?#@]{0,200}@)?([^\s/?#@'"()]{0,200})[^\s'"()]*/gi;

/** Causes that are looked through, and characters of each message. */
const DEPTH = 5;
const MESSAGE = 400;

/** Finds the class of an error that a runtime throws, by itself and its causes; null for one that is not known. */
export function networkFailureOf(error: unknown): NetworkFailure | null {
  for (const { code, message } of chainOf(error)) {
    const row =
      codes.find(([pattern]) => pattern.test(code)) ??
      messages.find(([pattern]) => pattern.test(message.replaceAll(ADDRESS, "")));
    if (row !== undefined) return row[1];
  }
  return null;
}

/** Returns the words of the runtime, in one bounded line without addresses: those of the innermost cause. */
export function failureText(error: unknown): string {
  const { code = "", message = "" } = chainOf(error).at(-1) ?? {};
  const text = code === "" || message.includes(code) ? message : `${message} (${code})`;
  return text.replaceAll(ADDRESS, "$1://$2").replaceAll(/\s+/g, " ").trim().slice(0, 200);
}

interface Link {
  readonly code: string;
  readonly message: string;
}

/** An error and its causes; of several attempts to connect, the first one. */
function chainOf(error: unknown): Link[] {
  const links: Link[] = [];
  for (let at = error; at instanceof Error && links.length < DEPTH;) {
    const code = "code" in at && typeof at.code === "string" ? at.code : "";
    links.push({ code, message: at.message.slice(0, MESSAGE) });
    at = at.cause ?? (at instanceof AggregateError ? (at.errors[0] as unknown) : undefined);
  }
  return links;
}
