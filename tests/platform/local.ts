// What the test platforms of Node, Deno and Bun share.
import { join } from "node:path";
import { inject } from "vitest";
import type { ActorRef, Log, Platform } from "../../core/ports.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { FetchApp, Served, ServeOptions } from "../../adapters/shared/http/drain.ts";
import type { OpenOptions, TestSocket } from "./open-platform.d.ts";
import type { Provided } from "../config/provided.d.ts";
import { testSocket } from "./test-socket.ts";

const quiet: Log = () => undefined;

/** A place by its name; the run's scratch folder goes with the run. */
function placeOf(data: string): string {
  const scratch: Provided["scratch"] = inject("scratch");
  return join(scratch, data.replaceAll(/[^\w-]/gu, "_"));
}

/** See `open-platform.d.ts`. */
export type OpenPlatform = (options?: OpenOptions) => Promise<Platform>;

/** `openPlatform` over the platform factory of a runtime. */
export function opener(open: (options: LocalPlatformOptions) => Promise<Platform>): OpenPlatform {
  return ({ data, ...more } = {}) => {
    const dataDir = data === undefined ? ":memory:" : placeOf(data);
    const quick = { actorIdleMs: 200, alarmBackoffMs: 50, closeGraceMs: 2000 };
    return open({ dataDir, log: quiet, ...quick, ...more });
  };
}

/** See `open-platform.d.ts`. */
export type Connect = (
  ref: ActorRef,
  protocols?: readonly string[],
  path?: string,
) => Promise<TestSocket>;

/** `connect` over the server of a runtime: one server per connection, gone with it. */
export function connector(
  serve: (app: FetchApp, options: ServeOptions) => Promise<Served>,
): Connect {
  return async (ref, protocols = [], path = "/") => {
    const app = { fetch: (request: Request) => ref.fetch(request) };
    const { url, close } = await serve(app, { port: 0, handleSignals: false, graceMs: 0 });
    const client = new WebSocket(`${url.replace("http", "ws")}${path}`, [...protocols]);
    const socket = testSocket(client);
    void socket.closed.then(close);
    await new Promise((resolve, reject) => {
      client.addEventListener("open", resolve);
      void socket.closed.then(({ code }) => {
        reject(new Error(`No connection: ${code}`));
      });
    });
    return socket;
  };
}

/** See `open-platform.d.ts`. */
export type ConnectLiving = (ref: ActorRef) => Promise<() => void>;

/** `connectLiving` over the server of a runtime: the client's own WebSocket answers pings. */
export function livingConnector(
  serve: (app: FetchApp, options: ServeOptions) => Promise<Served>,
): ConnectLiving {
  return async (ref) => {
    const socket = await connector(serve)(ref, [], "/?id=living");
    return () => socket.close();
  };
}

/** See `open-platform.d.ts`: twice what `openPlatform` sets for idleness, plus the sweep in between. */
export async function evict(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 400));
}
