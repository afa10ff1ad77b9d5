import type { IncomingMessage } from "node:http";
import { attached } from "../../core/http/attached.ts";
import type { HeaderPair, ReceivedRequest } from "../../core/ports.ts";

const incomings = attached<IncomingMessage>("incoming");
/** The pairs of a request, which the gateway and the access log both ask for. */
const receivedPairs = attached<readonly HeaderPair[]>("received-pairs");
/** The client addresses of upgrade requests. */
const addresses = attached<string | null>("client-address");

/** Remembers from where an upgrade request came. */
export function rememberUpgrade(request: Request, { socket }: IncomingMessage): void {
  addresses.set(request, socket.remoteAddress ?? null);
}

/** Returns the address from which Node received a request; null for one of a server that is not `serve()`. */
export function clientAddressOnNode(request: Request): string | null {
  const incoming = incomings.get(request);
  return incoming === undefined
    ? (addresses.get(request) ?? null)
    : (incoming.socket.remoteAddress ?? null);
}

/** The key under which node-server caches the `Headers` of a request once they were read. */
let headersKey: symbol | undefined;

/** Remembers what a request of `serve()` was made of. */
export function rememberIncoming(request: Request, incoming: IncomingMessage): void {
  incomings.set(request, incoming);
}

/**
 * Returns the request as Node received it: building `Headers` and copying the body costs as much as the whole gateway. Null
 * for a request that was replaced by another one, or whose headers may have changed since.
 */
export function receivedByNode(request: Request): ReceivedRequest | null {
  const incoming = incomings.get(request);
  if (incoming === undefined) return null;
  headersKey ??= findHeadersKey(request);
  if (headersKey === undefined || headersKey in request) return null;
  let headers = receivedPairs.get(incoming);
  if (headers === undefined) receivedPairs.set(incoming, (headers = pairsOf(incoming)));
  return { headers, bytes: () => bytesOf(incoming) };
}

function findHeadersKey(request: Request): symbol | undefined {
  void request.headers;
  return Object.getOwnPropertySymbols(request).find(
    (key) => key.description === "headersKey" && Reflect.get(request, key) === request.headers,
  );
}

/**
 * Returns the pairs with names in lower case; repeated ones are joined as `Headers` joins them (fetch standard, "get,
 * decode, and split").
 */
function pairsOf({ headers, rawHeaders }: IncomingMessage): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  // Node has them by name already; of repeated ones it keeps some and drops others.
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== "string") return joinedPairsOf(rawHeaders);
    pairs.push([name, value]);
  }
  return pairs.length * 2 === rawHeaders.length ? pairs : joinedPairsOf(rawHeaders);
}

function joinedPairsOf(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? "").toLowerCase();
    const value = raw[i + 1] ?? "";
    const known = pairs.findIndex(([other]) => other === name);
    if (known === -1) pairs.push([name, value]);
    else
      pairs[known] = [name, `${pairs[known]?.[1] ?? ""}${name === "cookie" ? "; " : ", "}${value}`];
  }
  return pairs;
}

function bytesOf(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const fail = (error?: Error): void => {
      // "close" follows "end" too.
      if (!incoming.readableEnded) reject(error ?? new Error("The client went away"));
    };
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.once("end", () => {
      resolve(chunks.length === 1 ? (chunks[0] ?? new Uint8Array(0)) : Buffer.concat(chunks));
    });
    incoming.once("error", fail);
    incoming.once("close", fail);
    if (incoming.destroyed) fail();
  });
}
