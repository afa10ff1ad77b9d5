import { openPlatform } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as v from "valibot";
import { type PlatformApi, platformApi } from "../../../core/api.ts";
import { type BodyBudget, bodyBudget } from "../../../core/work/body-budget.ts";
import { readArriving } from "../../../core/http/arriving-body.ts";
import { readJson, withBytes } from "../../../core/http/fields/body.ts";
import type { Platform } from "../../../core/ports.ts";

const KIBI = 1024;
let real: Platform;
beforeAll(async () => {
  real = await openPlatform();
});
afterAll(() => real.close());

/** A platform whose pauses are over soon. */
const hurried = (bodies: BodyBudget): Platform => ({
  ...real,
  bodies,
  system: { ...real.system, sleep: (_, signal) => real.system.sleep(20, signal) },
});

/** A body of `size` bytes, of a told length or in chunks. */
function post(size: number, isTold: boolean): Request {
  const body = new Uint8Array(size).fill(32);
  const headers = isTold ? { "content-length": String(size) } : {};
  return new Request("http://host.test/", { method: "POST", body, headers });
}

/** A body that stands still before its end. */
function stalled(headers: Record<string, string>): Request {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(KIBI)),
  });
  const init = { method: "POST", body, duplex: "half", headers };
  return new Request("http://host.test/", init);
}

describe("withBytes()", () => {
  it.each([true, false])(
    "counts a body until its use is over (told length: %s)",
    async (isTold) => {
      for (const size of [20 * KIBI, 300 * KIBI]) {
        const bodies = bodyBudget(700 * KIBI);
        const platform = { ...real, bodies };
        const used = await withBytes(post(size, isTold), 400 * KIBI, platform, async (bytes) => {
          expect(bytes.length).toBe(size);
          await expect(
            withBytes(post(size, isTold), 400 * KIBI, { ...real, bodies: full(bodies) }, () => 0),
          ).rejects.toMatchObject({ kind: "bodies_full" });
          return bodies.used;
        });
        expect(used).toBeGreaterThanOrEqual(2 * (size - 16 * KIBI));
        expect(bodies.used).toBe(0);
      }
    },
  );

  it("counts no longer what has failed, and never what is small", async () => {
    const bodies = bodyBudget(100 * KIBI);
    const failing = withBytes(post(20 * KIBI, true), 64 * KIBI, { ...real, bodies }, () =>
      Promise.reject(new Error("defect")),
    );
    await expect(failing).rejects.toThrow("defect");
    expect(bodies.used).toBe(0);
    const tooLong = withBytes(post(40 * KIBI, false), 30 * KIBI, { ...real, bodies }, () => 0);
    await expect(tooLong).rejects.toMatchObject({ kind: "too_large" });
    expect(bodies.used).toBe(0);
    const small = { ...real, bodies: bodyBudget(0) };
    for (const isTold of [true, false])
      expect(
        await withBytes(post(16 * KIBI, isTold), 64 * KIBI, small, (bytes) => bytes.length),
      ).toBe(16 * KIBI);
  });

  it("gives up a body that stands still, whatever its length", async () => {
    const bodies = bodyBudget(1000 * KIBI);
    for (const length of [undefined, 2 * KIBI, 100 * KIBI, 900 * KIBI]) {
      const headers: Record<string, string> =
        length === undefined ? {} : { "content-length": String(length) };
      const late = withBytes(stalled(headers), 1000 * KIBI, hurried(bodies), () => 0);
      await expect(late).rejects.toMatchObject({ kind: "request_timeout" });
      expect(bodies.used).toBe(0);
    }
  });

  it("is how readJson() reads where it is given a platform", async () => {
    const request = (): Request =>
      new Request("http://host.test/", {
        method: "POST",
        body: JSON.stringify({ text: "x".repeat(40 * KIBI) }),
      });
    const schema = v.object({ text: v.string() });
    const platform = { ...real, bodies: bodyBudget(KIBI) };
    await expect(readJson(request(), schema, { platform })).rejects.toMatchObject({
      kind: "bodies_full",
    });
    expect((await readJson(request(), schema)).text.length).toBe(40 * KIBI);
  });
});

/** The same budget with no room left. */
const full = (bodies: BodyBudget): BodyBudget => ({
  ...bodies,
  hold: () => ({ ...bodies.hold(), take: () => false }),
});

describe("beyond the budget for bodies, 429 with Retry-After is the answer of", () => {
  const form = (size: number): FormData => {
    const data = new FormData();
    data.set("file", new File(["x".repeat(size)], "a.txt", { type: "text/plain" }));
    return data;
  };
  const html = JSON.stringify({ html: "x".repeat(40 * KIBI) });
  const bodies = bodyBudget(KIBI);
  let api: PlatformApi;
  beforeAll(() => {
    api = platformApi({
      platform: { ...real, bodies },
      auth: "off",
      webhooks: { sources: { any: { scheme: "github", secret: "s".repeat(32) } } },
    });
  });
  const json = { "content-type": "application/json" };
  const root = "/client/v4/accounts/local";
  it.each([
    ["webhooks", "/webhooks/any", { body: "x".repeat(40 * KIBI) }],
    ["rendering", `${root}/browser-rendering/content`, { body: html, headers: json }],
    ["search", `${root}/ai-search/instances/any/items`, { body: form(40 * KIBI) }],
    [
      "the management API of the gateway",
      `${root}/ai-gateway/gateways`,
      { body: JSON.stringify({ id: "x".repeat(40 * KIBI) }), headers: json },
    ],
  ])("%s", async (_part, path, init) => {
    const url = `http://host.test${path}`;
    const answer = await api.fetch(new Request(url, { method: "POST", ...init }));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await answer.json()).toMatchObject({ success: false, errors: [{ code: 429 }] });
    expect(bodies.used).toBe(0);
  });
});

describe("readArriving()", () => {
  it("holds a body that comes a byte at a time in few pieces", async () => {
    const size = 40 * KIBI;
    let at = 0;
    const byByte = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at === size) return controller.close();
        controller.enqueue(new Uint8Array([at++ % 251]));
      },
    });
    const room = { system: real.system, take: () => at < size, clear() {}, mayPass: () => true };
    const passed = await readArriving(byByte, 64 * KIBI, room);
    if (passed instanceof Uint8Array) throw new Error("It found room");
    let pieces = 0;
    const bytes: number[] = [];
    for await (const piece of passed) {
      pieces++;
      bytes.push(...piece);
    }
    expect(pieces).toBeLessThan(2 * KIBI);
    expect(bytes).toEqual(Array.from({ length: size }, (_, n) => n % 251));
  });
});
