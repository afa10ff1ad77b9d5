import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { serve } from "../../../adapters/node/serve.ts";
import { eventually } from "../../cases/eventually.ts";

// Deno and Bun read a connection's next request when its last one is answered; Node parses all that a read brings.

const gate = Promise.withResolvers<void>();
const begun: string[] = [];
const app = {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    begun.push(pathname);
    if (pathname.startsWith("/held")) await gate.promise;
    return new Response(`<${pathname}>`);
  },
};
const served = await serve(app, { port: 0 });
afterEach(() => served.close());

/** Sends requests for these paths in one piece. */
function pipeline(paths: readonly string[]) {
  const socket = connect(served.port, "127.0.0.1");
  const seen = { text: "", isClosed: false };
  socket.setEncoding("utf8").on("data", (text: string) => (seen.text += text));
  socket.on("error", () => undefined).on("close", () => (seen.isClosed = true));
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`).join(""));
  return seen;
}

it("handles pipelined requests one after the other, and cuts off who sends too many", async () => {
  const few = pipeline(["/held", ...Array.from({ length: 20 }, (_, n) => `/${n}`)]);
  await eventually(() => begun.includes("/held"), "the first request is under way");
  const flood = pipeline(Array.from({ length: 1500 }, (_, n) => `/held-${n}`));
  await eventually(() => flood.isClosed, "the connection of the flood is closed");
  expect(begun).toEqual(["/held", "/held-0"]);
  gate.resolve();
  await eventually(() => few.text.includes("</19>"), "all are answered");
  expect(few.text.match(/<\/\w+>/gu)).toEqual([
    "</held>",
    ...Array.from({ length: 20 }, (_, n) => `</${n}>`),
  ]);
  expect((await fetch(`${served.url}/last`)).status).toBe(200);
});
