import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { link, messageFrame } from "../../adapters/peers/link.ts";

interface Heard {
  readonly from: PassThrough;
  readonly messages: unknown[];
  isClosed: boolean;
}

function listen(): Heard {
  const heard: Heard = { from: new PassThrough(), messages: [], isClosed: false };
  link(
    { from: heard.from, to: new PassThrough() },
    {
      message: (message) => void heard.messages.push(message),
      close: () => {
        heard.isClosed = true;
      },
    },
  );
  return heard;
}

const frames = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, n) => messageFrame({ n })).flat());
const numbers = (count: number): unknown[] => Array.from({ length: count }, (_, n) => ({ n }));

it("lets others have their turn after a hundred messages, also of one chunk, and loses none", async () => {
  const { from, messages } = listen();
  from.write(frames(1000));
  let most = messages.length;
  for (let turns = 0; messages.length < 1000 && turns < 1000; turns++) {
    const before = messages.length;
    await nextTurn();
    most = Math.max(most, messages.length - before);
  }
  expect(messages).toEqual(numbers(1000));
  // Two turns of the link may fall between two of ours.
  expect(most).toBeLessThanOrEqual(200);
});

it("reads messages that come in any pieces", async () => {
  const { from, messages } = listen();
  const bytes = frames(250);
  for (let at = 0; at < bytes.length; at += 7) from.write(bytes.subarray(at, at + 7));
  from.end();
  while (messages.length < 250) await nextTurn();
  expect(messages).toEqual(numbers(250));
});

it("hands on all that was sent before the end, and nothing after a fault", async () => {
  const whole = listen();
  whole.from.end(frames(350));
  while (!whole.isClosed) await nextTurn();
  expect(whole.messages).toHaveLength(350);

  const broken = listen();
  broken.from.write(Buffer.concat([frames(1), Buffer.from([255, 255, 255, 255]), frames(1)]));
  while (!broken.isClosed) await nextTurn();
  expect(broken.messages).toHaveLength(1);
});
