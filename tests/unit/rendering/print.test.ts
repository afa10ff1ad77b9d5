import { expect, it } from "vitest";
import { toBase64 } from "../../../core/crypto/encoding.ts";
import { PDF_LIMIT, printAction } from "../../../core/rendering/actions/print.ts";
import { openCdp } from "../../../core/rendering/cdp/cdp.ts";
import { insteadOfLong } from "../../../core/rendering/cdp/long-answer.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";
import { fakeWire, type FakeWire, type SeenCall } from "../../fakes/rendering-wire.ts";

const PART = 768 * 1024;
const facts = { title: "", url: null, base: null, drawable: true };

interface Printing {
  readonly fake: FakeWire;
  readonly methods: () => string[];
  readonly printed: Promise<Uint8Array>;
}

/** Prints a page of a browser that a test plays. */
function printing(
  script: (call: SeenCall, say: (message: object) => void) => object | undefined,
  signal: AbortSignal = new AbortController().signal,
): Printing {
  const fake = fakeWire(script);
  const { system } = fakeClock();
  const cdp = openCdp(fake.wire, { system, callMs: 60_000 });
  cdp.endWith(signal);
  const page = {
    call: cdp.call,
    isPlain: true,
    files: { noteLate() {} },
    filesMs: 0,
    system,
  } as unknown as Page;
  const printed = printAction({}, () => undefined)(page, facts, signal);
  return { fake, printed, methods: () => fake.calls.map(({ method }) => method) };
}

/** A browser that keeps a PDF of so many parts. */
function keeping(parts: readonly Uint8Array[]): (call: SeenCall) => object | undefined {
  const left = parts.map(toBase64);
  return ({ method, params }) => {
    if (method === "Page.printToPDF") return { result: { data: "", stream: "7" } };
    if (method === "IO.close") return { result: {} };
    expect([method, params["handle"]]).toEqual(["IO.read", "7"]);
    const data = left.shift() ?? "";
    return { result: { data, base64Encoded: true, eof: data === "" } };
  };
}

it("reads a PDF of any length in parts, and has the browser let go of it", async () => {
  const parts = [1000, 1, 786_432, 786_430].map((length, i) => new Uint8Array(length).fill(i + 1));
  const { fake, printed, methods } = printing(keeping(parts));
  const bytes = await printed;
  expect(Buffer.from(bytes).equals(Buffer.concat(parts))).toBe(true);
  expect(fake.calls[0]?.params["transferMode"]).toBe("ReturnAsStream");
  expect(fake.calls[1]?.params).toEqual({ handle: "7", size: 786_432 });
  expect(methods().filter((method) => method === "IO.read").length).toBeLessThan(7);
  expect(methods().at(-1)).toBe("IO.close");
});

it("stops at a PDF that is too large, says what there may be, and has the browser let go of it", async () => {
  const part = new Uint8Array(PART);
  const { printed, methods } = printing(keeping(Array.from({ length: 200 }, () => part)));
  await expect(printed).rejects.toMatchObject({
    kind: "page_too_large",
    message: expect.stringMatching(
      /^pdf: The PDF has more than 100000000 bytes, and an answer may have 100000000: /u,
    ),
  });
  const reads = methods().filter((method) => method === "IO.read").length;
  expect(reads).toBeLessThan(PDF_LIMIT / PART + 4);
  expect(methods().at(-1)).toBe("IO.close");
});

it("takes a PDF in a message where the browser gives no parts, and tells what that may have", async () => {
  const bytes = Uint8Array.from([1, 2, 3]);
  const ignorant = printing(() => ({ result: { data: toBase64(bytes) } }));
  expect(await ignorant.printed).toEqual(bytes);
  expect(ignorant.methods()).toEqual(["Page.printToPDF"]);
  const unreadable = printing(({ method, params }) => {
    if (method.startsWith("IO.")) return { error: { message: `'${method}' wasn't found` } };
    const isStream = params["transferMode"] === "ReturnAsStream";
    return { result: isStream ? { data: "", stream: "7" } : { data: toBase64(bytes) } };
  });
  expect(await unreadable.printed).toEqual(bytes);
  const tooLong = printing(({ id, method, params }, say) => {
    if (method.startsWith("IO.")) return { error: { message: "unknown" } };
    if (params["transferMode"] === "ReturnAsStream") return { result: { data: "", stream: "7" } };
    say(JSON.parse(insteadOfLong(`{"id":${id},"result"`, 40_000_000) ?? "{}") as object);
    return undefined;
  });
  await expect(tooLong.printed).rejects.toMatchObject({
    message: expect.stringContaining("30000000 bytes, and an answer may have 24000000: "),
  });
});

it("ends with its reader, and with a browser that fails in between", async () => {
  const stop = new AbortController();
  const left = printing(({ method }) => {
    if (method === "Page.printToPDF") return { result: { data: "", stream: "7" } };
    stop.abort(new Error("client left"));
    return undefined;
  }, stop.signal);
  await expect(left.printed).rejects.toThrow("client left");
  let reads = 0;
  const broken = printing(({ method }) => {
    if (method !== "IO.read") return { result: { data: "", stream: "7" } };
    reads += 1;
    return reads === 1
      ? { result: { data: "AAAA", eof: false } }
      : { error: { message: "Read failed" } };
  });
  await expect(broken.printed).rejects.toThrow("Read failed");
  expect(broken.methods().at(-1)).toBe("IO.close");
});
