import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A network between a client and a server that breaks. */
export interface CutProxy {
  readonly url: string;
  /** Resolves when the connection was cut. */
  readonly cut: Promise<void>;
  close(): void;
}

/** Passes connections on to a server; the first on which the server sends `marker` is lost there and then. */
export async function cutProxy(server: string, marker: string): Promise<CutProxy> {
  const { hostname, port } = new URL(server);
  const done = Promise.withResolvers<void>();
  const open = new Set<Socket>();
  let isCut = false;
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
    }
    client.pipe(upstream);
    let sent = "";
    upstream.on("data", (chunk: Buffer) => {
      client.write(chunk);
      sent += chunk.toString("latin1");
      if (isCut || !sent.includes(marker)) return;
      isCut = true;
      // What was written before must arrive: only then does the client know of something to go on from.
      client.end(() => client.destroy());
      upstream.resetAndDestroy();
      done.resolve();
    });
    upstream.on("end", () => client.end());
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut: done.promise,
    close() {
      for (const socket of open) socket.destroy();
      proxy.close();
    },
  };
}
