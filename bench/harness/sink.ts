import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A collector of traces that takes everything and keeps nothing. */
export interface Sink {
  readonly url: URL;
  /** Spans that came so far. */
  spans(): number;
  close(): void;
}

/** Opens a collector in this process: what it costs is not the measured server's. */
export async function openSink(): Promise<Sink> {
  let spans = 0;
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => void chunks.push(chunk));
    req.on("end", () => {
      spans += Buffer.concat(chunks).toString().split('"spanId"').length - 1;
      res.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/v1/traces`),
    spans: () => spans,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
