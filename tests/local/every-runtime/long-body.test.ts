import { Writable } from "node:stream";
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { serve } from "../../../adapters/node/mod.ts";
import { writeLongBytes } from "../../../adapters/node/write-response.ts";
import { eventually } from "../../cases/eventually.ts";

const bytes = new Uint8Array(5_000_000);
for (let at = 0; at < bytes.length; at += 1000) bytes[at] = at / 1000;

it("a long body is written in slices", async () => {
  const slices: Uint8Array[] = [];
  let head: unknown;
  const outgoing = new Writable({
    write(slice: Uint8Array, _encoding, done) {
      slices.push(slice);
      setImmediate(done);
    },
  });
  Object.assign(outgoing, { writeHead: (...given: unknown[]) => (head = given) });
  const response = new Response(null, { headers: { "content-type": "application/pdf" } });
  expect(writeLongBytes(response, [200, bytes, null], outgoing as ServerResponse)).toBe(true);
  await eventually(() => outgoing.writableFinished, "the body is written");
  expect(head).toEqual([200, { "content-length": "5000000", "content-type": "application/pdf" }]);
  expect(Math.max(...slices.map(({ byteLength }) => byteLength))).toBeLessThan(600_000);
  expect(Buffer.concat(slices).equals(bytes)).toBe(true);
});

it("a long body arrives whole from the Node server", async () => {
  const server = await serve({ fetch: () => new Response(bytes) }, { port: 0 });
  try {
    const answer = await fetch(server.url);
    expect(answer.headers.get("content-length")).toBe("5000000");
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  } finally {
    await server.close();
  }
});

it("a long file keeps its name, which Node would damage behind the length", async () => {
  const name = Buffer.from("übersicht.pdf").toString("latin1");
  const headers = { "content-disposition": `attachment; filename="${name}"` };
  const server = await serve({ fetch: () => new Response(bytes, { headers }) }, { port: 0 });
  try {
    const answer = await fetch(server.url);
    await answer.arrayBuffer();
    expect(answer.headers.get("content-disposition")).toBe(headers["content-disposition"]);
  } finally {
    await server.close();
  }
});
