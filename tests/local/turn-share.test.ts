import { expect, it } from "vitest";
import { sharingTurns, turnShare } from "../../adapters/shared/http/turn-share.ts";

const KIBI = 1024;
const CHUNK = 64 * KIBI;

/** A connection whose network is faster than anybody reads: it brings a chunk whenever it is not paused. */
function fastConnection(share: ReturnType<typeof turnShare>) {
  const state = { isPaused: false, bytes: 0, resumed: 0 };
  const control = sharingTurns(
    {
      pause: () => void (state.isPaused = true),
      resume() {
        state.isPaused = false;
        state.resumed += 1;
        read();
      },
      abort: () => undefined,
    },
    share,
  );
  /** As libuv does: up to 32 reads of a socket in a turn. */
  const read = (): void => {
    for (let at = 0; at < 32 && !state.isPaused; at++) {
      state.bytes += CHUNK;
      control.took(CHUNK);
    }
  };
  return { state, control, read };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("a turn of the event loop brings a bounded part of many fast answers, and each gets its turn", async () => {
  const share = turnShare();
  const all = Array.from({ length: 200 }, () => fastConnection(share));
  const late = all.slice(1);
  for (const { read } of all) read();
  const sum = (): number => all.reduce((bytes, { state }) => bytes + state.bytes, 0);
  // A chunk each, beside the first one, which was alone.
  expect(sum()).toBeLessThan(232 * CHUNK);
  for (let at = 0; at < 400 && late.some(({ state }) => state.resumed < 2); at++) {
    const before = sum();
    await turn();
    expect(sum() - before).toBeLessThan(2048 * KIBI);
  }
  expect(late.every(({ state }) => state.resumed >= 2)).toBe(true);
});

it("an answer that begins in a turn that has brought too much waits with its first bytes", () => {
  const share = turnShare();
  fastConnection(share).read();
  const late = fastConnection(share);
  late.control.took(0);
  late.read();
  expect(late.state.bytes).toBe(0);
});

it("an answer that is alone takes all that the network brings", async () => {
  const share = turnShare();
  const { state, read } = fastConnection(share);
  for (let at = 1; at <= 3; at++) {
    read();
    expect(state).toMatchObject({ isPaused: false, bytes: at * 32 * CHUNK });
    await turn();
  }
});

it("an answer whose reader has no room stays paused when its turn comes", async () => {
  const share = turnShare();
  share.take(0, () => undefined);
  const { state, control, read } = fastConnection(share);
  read();
  control.pause();
  for (let at = 0; at < 5; at++) await turn();
  expect(state).toMatchObject({ isPaused: true, resumed: 0 });
  control.resume();
  expect(state.resumed).toBe(1);
});

it("a reader that has room again waits for its turn", async () => {
  const share = turnShare();
  share.take(0, () => undefined);
  const { state, control, read } = fastConnection(share);
  read();
  control.pause();
  control.resume();
  expect(state).toMatchObject({ isPaused: true, resumed: 0 });
  await expect.poll(() => state.resumed).toBeGreaterThan(0);
});
