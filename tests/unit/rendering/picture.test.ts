import { expect, it } from "vitest";
import { toBase64 } from "../../../core/crypto/encoding.ts";
import { CdpError } from "../../../core/rendering/cdp/cdp.ts";
import { MESSAGE_LIMIT } from "../../../core/rendering/cdp/long-answer.ts";
import { bytesOf, pictureAction } from "../../../core/rendering/actions/actions.ts";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";
import type { Page } from "../../../core/rendering/page/page.ts";

const facts = { title: "", url: null, base: null, drawable: true };

/** Takes a picture of a part of a plain page. */
const take = async (width: number, height: number, density = 1): Promise<string[]> => {
  const called: string[] = [];
  const page = {
    isPlain: true,
    density,
    files: { noteLate() {} },
    call: (method: string) => {
      called.push(method);
      return Promise.resolve({ data: "" });
    },
  } as unknown as Page;
  const clip = { x: 0, y: 0, width, height };
  await pictureAction({ clip }, () => undefined)(page, facts, new AbortController().signal);
  return called;
};

it("refuses a picture of too many pixels before it is made, and names a height that fits", async () => {
  expect(await take(1920, 16_384)).toEqual(["Page.captureScreenshot"]);
  for (const [width, height, density] of [
    [16_000, 16_000, 1],
    [8000, 8000, 1],
    [4000, 4000, 2],
  ] as const)
    await expect(take(width, height, density)).rejects.toMatchObject({
      kind: "page_too_large",
      message: expect.stringMatching(/40000000 in all, such as \d+ x \d+/u),
    });
});

it("names the share of a picture that fits when its file is too large", async () => {
  const page = {
    isPlain: true,
    density: 1,
    files: { noteLate() {} },
    call: (method: string) =>
      Promise.reject(new CdpError(method, "The answer is too long", 4 * MESSAGE_LIMIT)),
  } as unknown as Page;
  await expect(
    pictureAction({}, () => undefined)(page, facts, new AbortController().signal),
  ).rejects.toMatchObject({
    kind: "page_too_large",
    message:
      'screenshot: The picture has 96000000 bytes, and an answer may have 24000000: take parts of at most 25 % of its area with screenshotOptions.clip, or screenshotOptions.type "jpeg"',
  });
});

it("refuses a window of too many pixels, and names a height that fits", () => {
  const policy = { allow: allowNone, caps: {}, unsafeRegex: false };
  const job = (viewport: { width: number; height: number; deviceScaleFactor?: number }) => () =>
    jobWith(patternCompiler, { html: "a", viewport }, policy);
  expect(job({ width: 8000, height: 5000 })).not.toThrow();
  expect(job({ width: 1920, height: 1080, deviceScaleFactor: 4 })).not.toThrow();
  expect(job({ width: 1920, height: 1080, deviceScaleFactor: 0 })).not.toThrow();
  expect(job({ width: 8000, height: 5001 })).toThrow("a height of at most 5000 fits");
  expect(job({ width: 4000, height: 4000, deviceScaleFactor: 2 })).toThrow(
    "viewport: 4000 x 4000 with deviceScaleFactor 2 is more than 40000000 pixels: a height of at most 2500 fits",
  );
});

it("decodes base64 of any length, a part at a time", async () => {
  let turns = 0;
  const { system: real } = fakeClock();
  const system = {
    ...real,
    sleep: () => {
      turns += 1;
      return Promise.resolve();
    },
  };
  const { signal } = new AbortController();
  for (const length of [0, 1, 2, 3, 4, 1000, 786_431, 786_432, 786_433, 2_000_000]) {
    const bytes = Uint8Array.from({ length }, (_, n) => (n * 31) % 256);
    turns = 0;
    const decoded = await bytesOf(toBase64(bytes), system, signal);
    expect([decoded.length, decoded.findIndex((one, n) => one !== bytes[n])]).toEqual([length, -1]);
    expect(turns).toBe(Math.max(0, Math.ceil(length / 786_432) - 1));
  }
  const stop = AbortSignal.abort(new Error("client left"));
  await expect(bytesOf("A".repeat(2 ** 21), real, stop)).rejects.toThrow("client left");
});
