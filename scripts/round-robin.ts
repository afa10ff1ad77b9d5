import { connect, createServer, type Server } from "node:net";

/** Makes a listener that hands each connection to the next of some ports of this machine. */
export function roundRobin(ports: () => readonly number[]): Server {
  let turn = 0;
  return createServer((client) => {
    const all = ports();
    const port = all[(turn += 1) % all.length];
    if (port === undefined) return void client.destroy();
    const server = connect(port, "127.0.0.1");
    for (const one of [client, server])
      one
        .on("error", () => undefined)
        .on("close", () => {
          client.destroy();
          server.destroy();
        });
    client.pipe(server).pipe(client);
  });
}
