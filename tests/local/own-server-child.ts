// A host's own server with agents in it, for the tests of acceptWebSockets(): RUNTIME [plain | without].
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, serve } from "@hono/node-server";
import { platformApi } from "../../core/mod.ts";
import type { FetchApp } from "../../adapters/shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform } from "../../core/ports.ts";

type OnUpgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface Adapter {
  /** On Bun it is what `Bun.serve()` takes. */
  acceptWebSockets(app: FetchApp): OnUpgrade;
  [open: string]: unknown;
}

const [runtime = "node", kind = "hono"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Adapter;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const app = platformApi({ platform: await open({ dataDir: ":memory:" }), auth: "off" });

if (runtime === "bun") {
  const handlers: object =
    kind === "without" ? { fetch: app.fetch } : adapter.acceptWebSockets(app);
  const { Bun } = globalThis as unknown as {
    Bun: { serve(options: object): { readonly port: number } };
  };
  console.log(`listening ${Bun.serve({ port: 0, hostname: "127.0.0.1", ...handlers }).port}`);
} else {
  const listener = getRequestListener((request) => app.fetch(request));
  const server =
    kind === "plain"
      ? createServer((incoming, outgoing) => void listener(incoming, outgoing))
      : serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  if (kind === "plain") server.listen(0, "127.0.0.1");
  if (kind !== "without") server.on("upgrade", adapter.acceptWebSockets(app));
  server.once("listening", () => {
    console.log(`listening ${(server.address() as AddressInfo).port}`);
  });
}
