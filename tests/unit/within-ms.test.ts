import { expect, it } from "vitest";
import { TransportError } from "../../core/net/transport-error.ts";
import { withinMs } from "../../core/time/within-ms.ts";
import { fakeClock, settled } from "../fakes/rendering-system.ts";

/** Work of a transport that tells every abort by an error of its own. */
const stubborn = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new TransportError("aborted", "Aborted")));
  });

it("withinMs() says that the time is over, whatever the work makes of its signal", async () => {
  const clock = fakeClock();
  const failure = withinMs({ ms: 1000, signal: undefined, system: clock.system }, stubborn).catch(
    (error) => error,
  );
  await clock.advance(999);
  await clock.advance(1);
  expect(await failure).toMatchObject({ reason: "late", message: "No answer within 1000 ms" });
  const own = withinMs(
    { ms: 1000, signal: undefined, system: clock.system, late: () => new Error("mine") },
    stubborn,
  );
  const ended = own.catch((error: unknown) => String(error));
  await clock.advance(1000);
  expect(await ended).toBe("Error: mine");
});

it("withinMs() leaves what the caller aborts, and what fails in time, as it is", async () => {
  const clock = fakeClock();
  const caller = new AbortController();
  const failure = withinMs(
    { ms: 1000, signal: caller.signal, system: clock.system },
    stubborn,
  ).catch((error) => error);
  caller.abort(new Error("gone"));
  expect(await failure).toMatchObject({ reason: "aborted" });
  const failing = withinMs({ ms: 1000, signal: undefined, system: clock.system }, () =>
    Promise.reject(new Error("no")),
  );
  await expect(failing).rejects.toThrow("no");
  expect(
    await withinMs({ ms: 1000, signal: undefined, system: clock.system }, () => Promise.resolve(7)),
  ).toBe(7);
  await settled();
});
