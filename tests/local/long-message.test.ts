import { Writable } from "node:stream";
import { setImmediate as soon } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { muxConnections } from "../../adapters/shared/chromium/chromium-mux.ts";
import { messageWriter } from "../../adapters/shared/chromium/chromium-process.ts";
import { wholeMessage } from "../../core/rendering/cdp/call-message.ts";
import { eventually } from "../cases/eventually.ts";

/** A pipe that keeps what is written, and how much of it was taken from a message before the write before had ended. */
function keptPipe(): { readonly pipe: Writable; readonly written: string[] } {
  const written: string[] = [];
  const pipe = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      soon(() => {
        written.push(String(chunk));
        done();
      });
    },
  });
  return { pipe, written };
}

it("of a long message a part is made when the one before has been written", async () => {
  const { pipe, written } = keptPipe();
  const ahead: number[] = [];
  const parts = function* (): Generator<string> {
    for (let made = 0; made < 5; made++) {
      ahead.push(made - written.length);
      yield `<${made}>`;
    }
  };
  const write = messageWriter(pipe, () => false);
  write(parts());
  write("second");
  write(["third ", "message"]);
  await eventually(() => written.join("").endsWith("message\0"), "all was written");
  expect(written.join("")).toBe("<0><1><2><3><4>\0second\0third message\0");
  expect(ahead).toEqual([0, 0, 0, 0, 0]);
});

it("what waits for its turn when its connection is closed is not sent", async () => {
  const { pipe, written } = keptPipe();
  const write = messageWriter(pipe, () => false);
  let say: (message: string) => void = () => undefined;
  const mux = muxConnections({
    send: (message) => {
      write(message);
      const attached = { id: 1, result: { sessionId: "own" } };
      if (typeof message === "string" && message.includes("attachToBrowserTarget"))
        say(JSON.stringify(attached));
    },
    onMessage: (listener) => {
      say = listener;
    },
    onExit: () => undefined,
    kill: () => Promise.resolve(),
  });
  const wire = await mux.connect();
  const long = function* (): Generator<string> {
    yield '{"id":7,"method":"Long"';
    yield "}";
  };
  wire.send(long());
  wire.send(long());
  await setImmediate();
  wire.close();
  await eventually(() => written.join("").includes("detachFromTarget"), "it was told");
  expect(written.join("").match(/Long/gu)).toHaveLength(1);
});

it("nothing more is made of a message whose browser is gone", async () => {
  const { pipe, written } = keptPipe();
  let made = 0;
  const parts = function* (): Generator<string> {
    for (;;) yield String(made++);
  };
  messageWriter(pipe, () => written.length === 3)(parts());
  await eventually(() => written.length === 3, "three parts were written");
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  expect(made).toBe(3);
});

it("a call in parts gets the ids of its connection, and its answer those of the caller", async () => {
  const sent: (string | Iterable<string>)[] = [];
  let say: (message: string) => void = () => undefined;
  const mux = muxConnections({
    send: (message) => void sent.push(message),
    onMessage: (listener) => {
      say = listener;
    },
    onExit: () => undefined,
    kill: () => Promise.resolve(),
  });
  const connecting = mux.connect();
  say('{"id":1,"result":{"sessionId":"link"}}');
  const wire = await connecting;
  const heard: string[] = [];
  wire.onMessage((message) => heard.push(message));
  const texts = (id: string): string[] => [
    `{"id":${id},"method":"A.a","params":{"x":"`,
    "long",
    '"}}',
  ];
  wire.send(texts("7"));
  wire.send(texts('8,"sessionId":"page"'));
  expect(sent.slice(1).map(wholeMessage)).toEqual([
    '{"id":2,"sessionId":"link","method":"A.a","params":{"x":"long"}}',
    '{"id":3,"sessionId":"page","method":"A.a","params":{"x":"long"}}',
  ]);
  say('{"id":3,"result":{},"sessionId":"page"}');
  say('{"id":2,"result":{},"sessionId":"link"}');
  expect(heard).toEqual(['{"id":8,"result":{},"sessionId":"page"}', '{"id":7,"result":{}}']);
});
