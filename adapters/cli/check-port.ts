import { createServer } from "node:net";
import { listenError } from "../shared/http/drain.ts";

/**
 * Rejects with one line when somebody listens on a port. Who opens one to share it joins whoever shares it already,
 * another server of the same user too: each would get some of the other's connections.
 */
export function checkPort(port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => {
      reject(listenError(error, hostname, port));
    });
    probe.listen({ port, host: hostname }, () => {
      probe.close(() => resolve());
    });
  });
}
