import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { type Dialled, type DialRequest, MAX_DUPLEX_MESSAGE } from "../../core/duplex.ts";
import type { AllowHosts } from "../../core/net/allow-hosts.ts";
import { checkUrl } from "../../core/net/check-url.ts";
import type { HeaderPair, InboundResponse } from "../../core/ports.ts";
import { TransportError } from "../../core/transport-error.ts";
import { localDuplex } from "./duplex.ts";
import { resolveChecked, type ResolvedAddress } from "./egress-resolve.ts";
import { toTransportError } from "./to-transport-error.ts";
import { endToEnd, REQUEST_FRAMING } from "./header-pairs.ts";
import { wireSocket } from "./wire-socket.ts";

/** Bytes of a refusal's body that are handed on. */
const REFUSAL_BYTES = 64 * 1024;

/** What a WebSocket client has to know of its runtime. */
export interface DialOptions {
  readonly allow: AllowHosts;
  /** Whether the runtime's `ws` connects to the address that it is told. */
  readonly pins: boolean;
}

/** Opens a WebSocket by means of `ws`, which can stop reading and shows the answer of a refusal. */
export async function dialWebSocket(request: DialRequest, options: DialOptions): Promise<Dialled> {
  if (request.signal.aborted) throw aborted();
  const addresses = request.reach === "public" ? await checked(request.url, options) : null;
  if (request.signal.aborted) throw aborted();
  return new Promise((resolve, reject) => {
    const socket = open(request, addresses);
    const settle = (): void => {
      clearTimeout(timer);
      request.signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: TransportError): void => {
      settle();
      reject(error);
      socket.terminate();
    };
    const onAbort = (): void => {
      fail(aborted());
    };
    const timer = setTimeout(() => {
      fail(new TransportError("unreachable", `No answer within ${request.timeoutMs} ms`));
    }, request.timeoutMs);
    request.signal.addEventListener("abort", onAbort, { once: true });
    // `ws` reports what ends a handshake as an error; later ones are followed by "close".
    socket.on("error", (error) => {
      settle();
      reject(toTransportError(error, request.signal, "unreachable"));
    });
    socket.once("unexpected-response", (_request, answer: IncomingMessage) => {
      refusalOf(answer).then(
        (refusal) => {
          settle();
          resolve({ refusal });
          socket.terminate();
        },
        (error: unknown) => {
          fail(toTransportError(error, request.signal, "broken"));
        },
      );
    });
    // Wired before it is open: the first message may come with the answer to the handshake.
    const local = localDuplex(() => socket.protocol);
    local.attach(wireSocket(socket, local.events));
    socket.once("open", () => {
      settle();
      resolve({ duplex: local.duplex });
    });
  });
}

function aborted(): TransportError {
  return new TransportError("aborted", "The request was aborted");
}

/** The addresses of a host that a caller may steer to; the connection goes to one of exactly these. */
async function checked(
  url: string,
  { allow, pins }: DialOptions,
): Promise<readonly ResolvedAddress[]> {
  const verdict = checkUrl(url.replace(/^ws/, "http"), allow);
  if (!verdict.ok) throw new TransportError("refused", verdict.reason);
  if (!pins) {
    const message =
      "This runtime cannot pin a WebSocket to a checked address: declare the provider in the configuration";
    throw new TransportError("refused", message);
  }
  return resolveChecked(verdict.host, verdict.port, allow);
}

function open(request: DialRequest, addresses: readonly ResolvedAddress[] | null): WebSocket {
  const { url, headers, protocols = [] } = request;
  return new WebSocket(url.replace(/^http/, "ws"), [...protocols], {
    headers: recordOf(headers),
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: MAX_DUPLEX_MESSAGE,
    ...(addresses === null ? {} : { lookup: pinned(addresses) }),
  });
}

type Lookup = (
  host: string,
  options: { readonly all?: boolean | undefined },
  callback: (
    error: null,
    address: string | { address: string; family: number }[],
    family?: number,
  ) => void,
) => void;

function pinned(addresses: readonly ResolvedAddress[]): Lookup {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

/** What belongs to the handshake, which is this connection's own. */
const HANDSHAKE: readonly string[] = [
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
];

function recordOf(pairs: readonly HeaderPair[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (const [name, value] of endToEnd(pairs, [...REQUEST_FRAMING, ...HANDSHAKE])) {
    record[name] = Object.hasOwn(record, name) ? `${record[name]}, ${value}` : value;
  }
  return record;
}

async function refusalOf(answer: IncomingMessage): Promise<InboundResponse> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > REFUSAL_BYTES) break;
  }
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value ?? ""].flat().map((one): HeaderPair => [name, one]),
  );
  const body = new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  return {
    status: answer.statusCode ?? 0,
    headers: endToEnd(headers, ["content-length", "content-encoding"]),
    body: body.subarray(0, REFUSAL_BYTES),
  };
}
