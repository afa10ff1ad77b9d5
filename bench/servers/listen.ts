import { serve } from "@hono/node-server";

type Handle = (request: Request) => Response | Promise<Response>;

declare const Deno:
  | undefined
  | {
      serve(
        options: { port: number; hostname: string; onListen: (at: { port: number }) => void },
        handle: Handle,
      ): unknown;
    };
declare const Bun:
  | undefined
  | { serve(options: { port: number; hostname: string; fetch: Handle }): { port: number } };

/** Serves a handler in the plainest way of the runtime that this runs on, and prints the address. */
export function listen(handle: Handle): void {
  const hostname = "127.0.0.1";
  const tell = ({ port }: { port: number }): void =>
    void process.stdout.write(`http://${hostname}:${port}/\n`);
  if (typeof Deno !== "undefined") Deno.serve({ port: 0, hostname, onListen: tell }, handle);
  else if (typeof Bun !== "undefined") tell(Bun.serve({ port: 0, hostname, fetch: handle }));
  else serve({ fetch: handle, port: 0, hostname }, tell);
  process.on("SIGTERM", () => process.exit(0));
}
