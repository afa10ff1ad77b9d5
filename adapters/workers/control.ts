import { closeAllSockets } from "./object-actors.ts";
import type { WorkerEnv } from "./worker-env.ts";
import { consoleLog, workerSystem } from "./worker-system.ts";

/**
 * A second entry of the Worker for whoever runs the process: `POST /close-sockets` before a shutdown. It is
 * never reachable from the Worker's own address; `serve:workers` binds it to a private Unix socket.
 */
export const control: { fetch(request: Request, env: WorkerEnv): Promise<Response> } = {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (request.method !== "POST" || pathname !== "/close-sockets")
      return new Response(null, { status: 404 });
    await closeAllSockets(env.CAUSEY, "", workerSystem(consoleLog));
    return new Response(null, { status: 204 });
  },
};
