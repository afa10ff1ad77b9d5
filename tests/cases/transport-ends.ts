import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import type { Case } from "./suite.ts";
import {
  type TransportSubject,
  get,
  textOf,
  type Note,
  noteOf,
  reasonOf,
  id,
  MEBI,
  type Reader,
  noWatch,
  standstill,
  countedBytes,
} from "./transport-subject.ts";

/** How requests and answers end, early and late. */
export const transportEnds: readonly Case<TransportSubject>[] = [
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
        expect(transport.watch?.(stream, watch)).toBeTypeOf("function");
        const reader = stream.getReader();
        expect(transport.watch?.(stream, watch)).toBeNull();
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
      expect(transport.watch?.(new ReadableStream<Uint8Array>(), noWatch)).toBeNull();
    },
  },
  {
    name: "an abort before the request sends nothing",
    async run({ transport, upstream }) {
      const aborted = get(`${upstream}/plain`, { signal: AbortSignal.abort() });
      expect(await reasonOf(transport.send(aborted))).toBe("aborted");
    },
  },
];
