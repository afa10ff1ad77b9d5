import { expect } from "vitest";
import type { HeaderPair } from "../../core/ports.ts";
import { eventually } from "./eventually.ts";
import type { Suite } from "./suite.ts";
import {
  type TransportSubject,
  get,
  bytesOf,
  textOf,
  valuesOf,
  noteOf,
  seenBy,
  id,
  countedBytes,
} from "./transport-subject.ts";
import { transportEnds } from "./transport-ends.ts";
import { transportFailures } from "./transport-failures.ts";

/** What every `Transport` shows. */
export const transportSuite: Suite<TransportSubject> = {
  port: "Transport",
  needs: "transport",
  cases: [
    {
      name: "method, target and headers arrive as given",
      async run(subject) {
        const headers: HeaderPair[] = [
          ["authorization", "Bearer x"],
          ["x-empty", ""],
          ["x-spaced", "a  b"],
        ];
        const seen = await seenBy(subject, { method: "DELETE", headers });
        expect([seen.method, seen.url]).toEqual(["DELETE", "/headers?q=1%2F2"]);
        for (const pair of headers) expect(seen.pairs).toContainEqual(pair);
      },
    },
    {
      name: "hop-by-hop headers, those named in Connection, Host and Expect are not sent on",
      async run(subject) {
        const seen = await seenBy(subject, {
          method: "POST",
          body: new TextEncoder().encode("x"),
          headers: [
            ["connection", "close, x-listed"],
            ["x-listed", "1"],
            ["te", "trailers"],
            ["proxy-authorization", "Basic x"],
            ["keep-alive", "timeout=1"],
            ["expect", "100-continue"],
            ["host", "elsewhere.test"],
            ["content-length", "999"],
            ["x-kept", "1"],
          ],
        });
        const names = seen.pairs.map(([name]) => name);
        for (const name of ["x-listed", "te", "proxy-authorization", "keep-alive", "expect"])
          expect(names).not.toContain(name);
        expect(valuesOf(seen.pairs, "host")).toEqual([new URL(subject.upstream).host]);
        expect(valuesOf(seen.pairs, "content-length")).toEqual(["1"]);
        expect(names).toContain("x-kept");
      },
    },
    {
      name: "status and headers come back, two Set-Cookie as two, hop-by-hop ones not",
      async run({ transport, upstream }) {
        const response = await transport.send(get(`${upstream}/reply-headers`));
        expect(response.status).toBe(429);
        expect(valuesOf(response.headers, "set-cookie")).toEqual([
          "a=1; Path=/",
          "b=2, with comma",
        ]);
        expect(valuesOf(response.headers, "retry-after")).toEqual(["7"]);
        expect(valuesOf(response.headers, "x-kept")).toEqual(["yes"]);
        const names = response.headers.map(([name]) => name);
        for (const name of ["connection", "x-listed", "keep-alive", "proxy-authenticate"])
          expect(names).not.toContain(name);
        expect(names).toEqual(names.map((name) => name.toLowerCase()));
        expect(await textOf(response)).toBe("slow down");
      },
    },
    {
      name: "a gzip answer tells the truth about its bytes",
      async run({ transport, upstream }) {
        const plain = await textOf(await transport.send(get(`${upstream}/plain`)));
        const response = await transport.send(
          get(`${upstream}/gzip`, { headers: [["accept-encoding", "gzip"]] }),
        );
        const bytes = await bytesOf(response);
        const [length] = valuesOf(response.headers, "content-length");
        if (length !== undefined) expect(bytes).toHaveLength(Number(length));
        const isPacked = valuesOf(response.headers, "content-encoding").includes("gzip");
        const body = new Response(bytes as BodyInit).body;
        const readable = isPacked ? body?.pipeThrough(new DecompressionStream("gzip")) : body;
        expect(await new Response(readable ?? null).text()).toBe(plain);
      },
    },
    {
      name: "an answer in any encoding, or in several, tells the truth about its bytes",
      async run({ transport, upstream }) {
        const plain = await bytesOf(await transport.send(get(`${upstream}/plain`)));
        for (const as of [
          "gzip",
          "GZIP",
          "x-gzip",
          "deflate",
          "br",
          "zstd",
          "gzip, br",
          "br, gzip",
          "identity",
        ]) {
          const url = `${upstream}/packed?as=${encodeURIComponent(as)}`;
          const raw = await bytesOf(await transport.send(get(`${url}&silent`)));
          const response = await transport.send(get(url));
          const bytes = await bytesOf(response);
          const named = valuesOf(response.headers, "content-encoding");
          expect([as, bytes]).toEqual([as, named.includes(as) ? raw : plain]);
          const [length] = valuesOf(response.headers, "content-length");
          if (length !== undefined) expect([as, bytes.length]).toEqual([as, Number(length)]);
        }
      },
    },
    {
      name: "bytes and streams are sent and come back unchanged",
      async run({ transport, upstream }) {
        const part = new Uint8Array(70_000).map((_, i) => i % 251);
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            for (let i = 0; i < 10; i++) controller.enqueue(part);
            controller.close();
          },
        });
        const bytes = await bytesOf(
          await transport.send(get(`${upstream}/echo`, { method: "POST", body: part })),
        );
        expect(bytes).toEqual(part);
        const streamed = await bytesOf(
          await transport.send(get(`${upstream}/echo`, { method: "POST", body: stream })),
        );
        expect(streamed).toHaveLength(700_000);
        expect(streamed.subarray(630_000)).toEqual(part);
      },
    },
    {
      name: "a request body is sent while it is made",
      async run(subject) {
        const name = id();
        const stream = new ReadableStream<Uint8Array>({
          async start(controller) {
            controller.enqueue(new Uint8Array(20_000));
            await eventually(
              async () => (await noteOf(subject, name)).bytes === 20_000,
              "the first part arrives alone",
            );
            controller.enqueue(new Uint8Array(5));
            controller.close();
          },
        });
        const request = get(`${subject.upstream}/upload?id=${name}`, {
          method: "POST",
          body: stream,
        });
        expect(await textOf(await subject.transport.send(request))).toBe('{"bytes":20005}');
      },
    },
    {
      name: "an answer is readable while it is made",
      async run({ transport, upstream }) {
        const { body } = await transport.send(get(`${upstream}/stream`));
        expect(body).toBeInstanceOf(ReadableStream);
        const reader = (body as ReadableStream<Uint8Array>).getReader();
        expect(new TextDecoder().decode((await reader.read()).value)).toContain("data: 0\n\n");
        await reader.cancel();
      },
    },
    {
      name: "a slow reader gets all of an answer whose connection ends with it, however it is framed",
      async run({ transport, upstream }) {
        for (const framing of ["length", "chunks", "close"]) {
          for (const bytes of [65_537, 131_072, 200_001]) {
            const url = `${upstream}/last?framing=${framing}&bytes=${bytes}`;
            const { body } = await transport.send(get(url));
            // The end arrives while nobody reads.
            await new Promise((resolve) => setTimeout(resolve, 30));
            expect([framing, await countedBytes(body)]).toEqual([framing, bytes]);
          }
        }
      },
    },
    {
      name: "redirects are handed on, not followed",
      async run({ transport, upstream }) {
        const response = await transport.send(get(`${upstream}/redirect`));
        expect([response.status, valuesOf(response.headers, "location")]).toEqual([
          302,
          ["/plain"],
        ]);
        await bytesOf(response);
      },
    },
    {
      name: "answers without a body have none",
      async run({ transport, upstream }) {
        const head = await transport.send(get(`${upstream}/plain`, { method: "HEAD" }));
        expect([head.status, await bytesOf(head)]).toEqual([200, new Uint8Array(0)]);
        const empty = await transport.send(get(`${upstream}/empty`));
        expect([empty.status, await bytesOf(empty)]).toEqual([204, new Uint8Array(0)]);
      },
    },
    ...transportEnds,
    ...transportFailures,
  ],
};
