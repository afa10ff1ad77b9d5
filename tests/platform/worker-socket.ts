import { evictAllDurableObjects } from "cloudflare:test";
import type { ActorRef } from "../../core/ports.ts";
import type { TestSocket } from "./open-platform.d.ts";
import { testSocket } from "./test-socket.ts";

/** See `open-platform.d.ts`: in workerd the client's end comes with the response. */
export async function connect(
  ref: ActorRef,
  protocols: readonly string[] = [],
  path: string = "/",
): Promise<TestSocket> {
  const headers = new Headers({ upgrade: "websocket" });
  if (protocols.length > 0) headers.set("sec-websocket-protocol", protocols.join(", "));
  const response = await ref.fetch(new Request(`http://actor.test${path}`, { headers }));
  const client = response.webSocket;
  if (client === null) throw new Error(`No connection: ${response.status}`);
  const protocol = response.headers.get("sec-websocket-protocol") ?? "";
  const socket = testSocket(client);
  client.accept();
  return { ...socket, protocol };
}

/** See `open-platform.d.ts`: workerd's clients show that they are there by the frame `ping`, and this one does it once. */
export async function connectMute(ref: ActorRef): Promise<void> {
  const socket = await connect(ref, [], "/?id=mute");
  socket.send("ping");
  await socket.next();
}

/** See `open-platform.d.ts`. */
export async function connectLiving(ref: ActorRef): Promise<() => void> {
  const socket = await connect(ref, [], "/?id=living");
  const pings = setInterval(() => socket.send("ping"), 100);
  return () => {
    clearInterval(pings);
    socket.close();
  };
}

/** See `open-platform.d.ts`; sockets stay, as in hibernation. */
export async function evict(): Promise<void> {
  await evictAllDurableObjects();
}
