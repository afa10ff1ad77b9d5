import type { System } from "../../core/ports.ts";
import { closeAllSockets } from "./objects/object-actors.ts";
import type { WorkerEnv } from "./env/worker-env.ts";
import { whenIdle, consoleLog, workerSystem } from "./env/worker-system.ts";

/** Milliseconds that `POST /settle` takes at most. */
const SETTLE_MS = 5000;

/**
 * A second entry of the Worker for the program that runs the process: `POST /close-sockets` before a shutdown, then `POST
 * /settle`, whose answer ends when no work is left. workerd waits only for requests, so that this open request keeps it
 * until the work that others left behind is stored. The entry is never reachable from the Worker's own address;
 * `serve:workers` binds it to a private Unix socket.
 */
export const control: { fetch(request: Request, env: WorkerEnv): Promise<Response> } = {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const system = workerSystem(consoleLog);
    if (request.method === "POST" && pathname === "/settle") return settling(system);
    if (request.method !== "POST" || pathname !== "/close-sockets")
      return new Response(null, { status: 404 });
    await closeAllSockets(env.CAUSEY, "", system);
    return new Response(null, { status: 204 });
  },
};

/** Makes an answer that begins at once. */
function settling(system: System): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new Uint8Array(1));
      await whenIdle(system, SETTLE_MS);
      controller.close();
    },
  });
  return new Response(body);
}
