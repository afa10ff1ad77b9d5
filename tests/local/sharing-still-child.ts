// The lock owner of a data directory, to be stopped from outside: RUNTIME DATA_DIR. Prints `holding` once others can join.
import { setTimeout as sleep } from "node:timers/promises";
import type { ActorKind, Platform } from "../../core/ports.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { readAddress } from "../../adapters/processes/address.ts";

const [runtime = "node", dataDir = ""] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });

const uploads: string[] = [];
const encoder = new TextEncoder();

/** Says something whenever it is asked to. */
function talk(): ReadableStream<Uint8Array> {
  return new ReadableStream(
    { pull: (controller) => sleep(1).then(() => controller.enqueue(encoder.encode("more "))) },
    { highWaterMark: 0 },
  );
}

async function upload(request: Request): Promise<Response> {
  try {
    uploads.push(`whole: ${await request.text()}`);
  } catch {
    uploads.push("broken");
  }
  return new Response("uploaded");
}

const kind: ActorKind = {
  name: "still",
  schema: [],
  interleaved: ["echo", "later", "uploads"],
  start: () => ({
    methods: {
      echo: (text: string) => text,
      later: (ms: number) => sleep(ms).then(() => "later"),
      uploads: () => uploads,
    },
    fetch: async (request) => (request.body === null ? new Response(talk()) : upload(request)),
  }),
};
platform.actors.define(kind);
while (readAddress(dataDir) === null) await sleep(5);
console.log("holding");
// The door alone keeps no process alive.
await sleep(120_000);
