import type { WebSockets } from "../../../core/duplex.ts";
import { parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import { type DialOptions, dialWebSocket, wsAsksLookup } from "./dial.ts";
import type { Resolve } from "./egress-resolve.ts";
import { webSocketProxy } from "./environment-proxy.ts";

/** Options of {@link webSocketDialler}. */
export interface DiallerOptions {
  /** Hosts that are let through although they are not public. @default [] */
  readonly allowHosts?: readonly string[] | undefined;
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** Whether the runtime's `ws` has to be told a proxy, see `DialOptions`. @default false */
  readonly passesProxy?: boolean;
}

/** Opens WebSockets from a process, past the proxy of its environment. */
export function webSocketDialler(options: DiallerOptions): WebSockets["dial"] {
  let asks: Promise<boolean> | undefined;
  const dialling: DialOptions = {
    allow: parseAllowHosts(options.allowHosts),
    pins: () => (asks ??= wsAsksLookup()),
    resolve: options.resolve,
    proxyFor: webSocketProxy(),
    passesProxy: options.passesProxy ?? false,
  };
  return (request) => dialWebSocket(request, dialling);
}
