import { expect, it } from "vitest";
import { drainedStream, withBoundedDrain } from "../../adapters/deno/drain-body.ts";
import { eventually } from "../cases/eventually.ts";

/** A body that never ends, and what became of it. */
function endlessBody() {
  const seen = { bytes: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve));
        seen.bytes += 1000;
        controller.enqueue(new Uint8Array(1000));
      },
      cancel() {
        seen.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen };
}

it("a cancelled body is read on within its bytes, and never cancelled", async () => {
  const { body, seen } = endlessBody();
  const reader = drainedStream(body, { bytes: 20_000, ms: 600_000 }).getReader();
  expect((await reader.read()).value).toHaveLength(1000);
  await reader.cancel();
  await eventually(() => seen.bytes >= 21_000, "the rest within the bound was read");
  for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setTimeout(resolve));
  expect(seen).toEqual({ bytes: 21_000, isCancelled: false });
});

it("a cancelled body is not read on beyond its time", async () => {
  const { body, seen } = endlessBody();
  await drainedStream(body, { bytes: 20_000, ms: 0 }).cancel();
  for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setTimeout(resolve));
  expect(seen).toEqual({ bytes: 0, isCancelled: false });
});

it("a body that is read to its end is the same", async () => {
  const request = new Request("http://x/", { method: "POST", body: "a".repeat(2_000_000) });
  const { body, headers } = withBoundedDrain(request);
  expect(await new Response(body, { headers }).text()).toHaveLength(2_000_000);
});

it("only bodies that may be long or endless are wrapped", () => {
  const headers = { "content-length": "1000" };
  for (const request of [
    new Request("http://x/"),
    new Request("http://x/", { method: "POST", headers, body: "a".repeat(1000) }),
  ])
    expect(withBoundedDrain(request)).toBe(request);
});
