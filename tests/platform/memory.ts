import { ownSqlite } from "#sqlite";
import {
  memoryPlatform,
  type AcceptWebSocket,
  type MemoryPlatformOptions,
} from "../../adapters/memory/mod.ts";
import type { ActorRef, Platform } from "../../core/ports.ts";
import { socketPair } from "../fakes/socket-pair.ts";
import type { TestSocket } from "./open-platform.d.ts";
import { testSocket } from "./test-socket.ts";

/** The clients of what was accepted, by the response that a server would have sent them. */
const clients = new WeakMap<Response, WebSocket>();

const acceptWebSocket: AcceptWebSocket = (_request, protocol) => {
  const { client, server } = socketPair(protocol ?? "");
  const response = new Response(null);
  clients.set(response, client);
  return { socket: server, response };
};

/** Opens a platform in memory whose host upgrades requests, as `openPlatform` does for the runtime's own. */
export function openMemory(options: MemoryPlatformOptions = {}): Promise<Platform> {
  const quick = { actorIdleMs: 200, alarmBackoffMs: 50, closeGraceMs: 2000 };
  const log = (): void => undefined;
  return memoryPlatform({ ...ownSqlite, ...quick, log, acceptWebSocket, ...options });
}

/** See `open-platform.d.ts`. */
export async function connectInMemory(
  ref: Pick<ActorRef, "fetch">,
  protocols: readonly string[] = [],
): Promise<TestSocket> {
  const headers = new Headers({ upgrade: "websocket" });
  if (protocols.length > 0) headers.set("sec-websocket-protocol", protocols.join(", "));
  const response = await ref.fetch(new Request("http://actor.test/", { headers }));
  const client = clients.get(response);
  if (client === undefined) throw new Error(`No connection: ${response.status}`);
  const socket = testSocket(client);
  await new Promise((resolve) => client.addEventListener("open", resolve));
  return socket;
}

/** See `open-platform.d.ts`: twice what {@link openMemory} sets for idleness, plus the sweep in between. */
export async function evictFromMemory(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 400));
}
