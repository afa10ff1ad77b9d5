import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { fetchTransport } from "../../../adapters/shared/http/fetch-transport.ts";
import { reasonOf } from "../../cases/transport-subject.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

it("a deadline ends an upload that stands still, whatever is collected meanwhile", async () => {
  const server = createServer((incoming) => incoming.resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const transport = fetchTransport({ send: (request) => fetch(request), decodes: () => true });
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(8)),
  });
  const url = `http://127.0.0.1:${port}/`;
  const collecting = setInterval(collectGarbage, 10);
  try {
    const sent = transport.send({ method: "POST", url, headers: [], body, beginMs: 200 });
    expect(await reasonOf(sent)).toBe("late");
  } finally {
    clearInterval(collecting);
    server.closeAllConnections();
    server.close();
  }
});
