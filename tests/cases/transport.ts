import { expect } from "vitest";
import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  StreamWatch,
  Transport,
} from "../../core/ports.ts";
import { TransportError } from "../../core/transport-error.ts";
import { eventually } from "./eventually.ts";
import type { Suite } from "./suite.ts";

/** What the suite works on. */
export interface TransportSubject {
  readonly transport: Transport;
  /** Base URL of `tests/platform/upstream.mjs`. */
  readonly upstream: string;
}

const get = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  method: "GET",
  url,
  headers: [],
  ...more,
});

async function bytesOf({ body }: InboundResponse): Promise<Uint8Array> {
  if (body === null) return new Uint8Array(0);
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}

const textOf = async (response: InboundResponse): Promise<string> =>
  new TextDecoder().decode(await bytesOf(response));

const valuesOf = (pairs: readonly HeaderPair[], name: string): string[] =>
  pairs.filter(([key]) => key === name).map(([, value]) => value);

interface Note {
  readonly bytes: number;
  readonly came: boolean;
  readonly gone: boolean;
  readonly sent: number;
}

async function noteOf({ transport, upstream }: TransportSubject, id: string): Promise<Note> {
  return JSON.parse(await textOf(await transport.send(get(`${upstream}/note?id=${id}`)))) as Note;
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "no error";
  } catch (error) {
    expect(error).toBeInstanceOf(TransportError);
    return (error as TransportError).reason;
  }
}

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly pairs: readonly [string, string][];
}

async function seenBy(
  { transport, upstream }: TransportSubject,
  more: Partial<OutboundRequest>,
): Promise<Seen> {
  const seen = JSON.parse(
    await textOf(await transport.send(get(`${upstream}/headers?q=1%2F2`, more))),
  ) as Seen;
  return { ...seen, pairs: seen.pairs.map(([name, value]) => [name.toLowerCase(), value]) };
}

const id = (): string => crypto.randomUUID();

const MEBI = 1024 * 1024;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

const noWatch: StreamWatch = { onChunk: () => undefined, onEnd: () => undefined };

/** The bytes that an upstream has written once it writes no more. */
async function standstill(subject: TransportSubject, name: string): Promise<number> {
  let { sent } = await noteOf(subject, name);
  for (let still = 0; still < 20; still++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = (await noteOf(subject, name)).sent;
    if (now !== sent) still = 0;
    sent = now;
  }
  return sent;
}

/** Reads counted bytes up to the end or `enough` of them, and counts them; throws where they are not in their order. */
async function countedBytes(
  body: InboundResponse["body"],
  enough: number = Number.POSITIVE_INFINITY,
): Promise<number> {
  const reader = new Response(body as BodyInit).body?.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return at;
    for (const byte of value) {
      if (byte !== (((at >>> 2) >>> (8 * (at & 3))) & 255)) throw new Error(`Not byte ${at}`);
      at++;
    }
    if (at < enough) continue;
    await reader?.cancel();
    return at;
  }
}

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
      name: "a deadline ends a request whose answer does not begin, and the upstream hears of it",
      async run(subject) {
        const name = id();
        const { transport, upstream } = subject;
        const asked = get(`${upstream}/silent?id=${name}`, { beginMs: 50 });
        expect(await reasonOf(transport.send(asked))).toBe("late");
        // On a busy machine it may never have arrived.
        const isFree = ({ came, gone }: Note): boolean => gone || !came;
        await eventually(async () => isFree(await noteOf(subject, name)), "the upstream is free");
      },
    },
    {
      name: "a deadline harms no answer that has begun, also when its second half is long in coming",
      async run({ transport, upstream }) {
        const asked = get(`${upstream}/halves?ms=2500`, { beginMs: 2000 });
        expect(await textOf(await transport.send(asked))).toBe("12");
      },
    },
    {
      name: "a deadline counts from the last byte of a request whose body streams",
      async run({ transport, upstream }) {
        let left = 6;
        const body = new ReadableStream<Uint8Array>({
          async pull(controller) {
            await new Promise((resolve) => setTimeout(resolve, 300));
            if (left-- > 0) controller.enqueue(new Uint8Array(8));
            else controller.close();
          },
        });
        const asked = {
          method: "POST",
          url: `${upstream}/upload?id=${id()}`,
          headers: [],
          body,
          beginMs: 1500,
        };
        expect(await textOf(await transport.send(asked))).toBe('{"bytes":48}');
      },
    },
    {
      name: "a deadline ends an upload that stands still",
      async run({ transport, upstream }) {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new Uint8Array(8)),
        });
        const asked = {
          method: "POST",
          url: `${upstream}/upload?id=${id()}`,
          headers: [],
          body,
          beginMs: 50,
        };
        expect(await reasonOf(transport.send(asked))).toBe("late");
      },
    },
    {
      name: "an answer that nobody reads stops the upstream within 64 MiB, and goes on unharmed once it is read",
      async run(subject) {
        const name = id();
        const { body } = await subject.transport.send(get(`${subject.upstream}/flood?id=${name}`));
        // Most of it waits in the kernel: 4 MB on the sender's side and 6 MB on the reader's, where nobody tuned it.
        expect(await standstill(subject, name)).toBeLessThan(64 * MEBI);
        expect(await countedBytes(body, 80 * MEBI)).toBeGreaterThanOrEqual(80 * MEBI);
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
      name: "cancelling an answer closes the upstream connection",
      async run(subject) {
        const name = id();
        const { body } = await subject.transport.send(get(`${subject.upstream}/flood?id=${name}`));
        await standstill(subject, name);
        await (body as ReadableStream<Uint8Array>).cancel();
        await eventually(
          async () => (await noteOf(subject, name)).gone,
          "cancelling closes the connection",
        );
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
    {
      name: "an upstream that breaks off its answer is broken, not ended",
      async run({ transport, upstream }) {
        for (const path of ["truncated", "truncated-small", "truncated-chunks"]) {
          const work = transport.send(get(`${upstream}/${path}`)).then(async ({ body }) => {
            if (!(body instanceof ReadableStream)) throw new Error("Whole");
            for await (const chunk of body as unknown as AsyncIterable<Uint8Array>)
              expect(chunk.byteLength).toBeGreaterThan(0);
          });
          expect([path, await reasonOf(work)]).toEqual([path, "broken"]);
        }
      },
    },
    {
      name: "nobody there, or a hang-up before the answer, is unreachable",
      async run({ transport, upstream }) {
        expect(await reasonOf(transport.send(get("http://127.0.0.1:1/")))).toBe("unreachable");
        expect(await reasonOf(transport.send(get("http://does-not-exist.invalid/")))).toBe(
          "unreachable",
        );
        expect(await reasonOf(transport.send(get(`${upstream}/hangup`)))).toBe("unreachable");
      },
    },
    {
      name: "an error tells no key of the URL or the headers",
      async run({ transport }) {
        const request = get("http://127.0.0.1:1/?key=s3cret", {
          headers: [["authorization", "Bearer s3cret"]],
        });
        const error = await transport.send(request).catch((thrown: unknown) => thrown);
        expect(`${String(error)}${JSON.stringify(error)}`).not.toContain("s3cret");
      },
    },
    {
      name: "an abort before the answer closes the upstream connection",
      async run(subject) {
        const name = id();
        const controller = new AbortController();
        const { signal } = controller;
        const work = reasonOf(
          subject.transport.send(get(`${subject.upstream}/silent?id=${name}`, { signal })),
        );
        await eventually(async () => (await noteOf(subject, name)).came, "the request is there");
        controller.abort();
        expect(await work).toBe("aborted");
        await eventually(
          async () => (await noteOf(subject, name)).gone,
          "the upstream sees the client leave",
        );
      },
    },
    {
      name: "an abort during the answer ends the stream and closes the upstream connection",
      async run(subject) {
        const name = id();
        const controller = new AbortController();
        const { signal } = controller;
        const response = await subject.transport.send(
          get(`${subject.upstream}/stream?id=${name}`, { signal }),
        );
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        await reader.read();
        controller.abort();
        const rest = (async () => {
          while (!(await reader.read()).done);
        })();
        expect(await reasonOf(rest)).toBe("aborted");
        await eventually(
          async () => (await noteOf(subject, name)).gone,
          "the upstream sees the client leave",
        );
      },
    },
    {
      name: "a watched answer tells its bytes as they are read, and once how it ended",
      async run({ transport, upstream }) {
        const control = new AbortController();
        const readAll = async (reader: Reader): Promise<void> => {
          while (!(await reader.read()).done);
        };
        const ends: Record<string, (reader: Reader) => Promise<unknown>> = {
          "last?framing=chunks&bytes=200001": readAll,
          stream: async (reader) => {
            await reader.read();
            await reader.cancel();
          },
          // Nobody reads on, nobody cancels.
          "stream?left": async (reader) => {
            await reader.read();
            control.abort();
          },
          "truncated-chunks": async (reader) => {
            expect(await reasonOf(readAll(reader))).toBe("broken");
          },
        };
        const told: string[] = [];
        const bytes: Record<string, number> = {};
        for (const [path, finish] of Object.entries(ends)) {
          const signal = path === "stream?left" ? control.signal : new AbortController().signal;
          const { body } = await transport.send(get(`${upstream}/${path}`, { signal }));
          const stream = body as ReadableStream<Uint8Array>;
          const onChunk = ({ length }: Uint8Array): void => {
            bytes[path] = (bytes[path] ?? 0) + length;
          };
          const onEnd = (end: string): void => void told.push(`${path}: ${end}`);
          const watch = { onChunk, onEnd };
          expect(transport.watch?.(stream, watch)).toBe(true);
          const reader = stream.getReader();
          expect(transport.watch?.(stream, watch)).toBe(false);
          await finish(reader);
        }
        await eventually(() => told.length === 4, "all four ends are told");
        expect(told).toEqual([
          "last?framing=chunks&bytes=200001: complete",
          "stream: aborted",
          "stream?left: aborted",
          "truncated-chunks: broken",
        ]);
        expect(bytes["last?framing=chunks&bytes=200001"]).toBe(200_001);
        expect(bytes["stream"]).toBeGreaterThan(0);
        expect(transport.watch?.(new ReadableStream<Uint8Array>(), noWatch)).toBe(false);
      },
    },
    {
      name: "an abort before the request sends nothing",
      async run({ transport, upstream }) {
        const aborted = get(`${upstream}/plain`, { signal: AbortSignal.abort() });
        expect(await reasonOf(transport.send(aborted))).toBe("aborted");
      },
    },
  ],
};
