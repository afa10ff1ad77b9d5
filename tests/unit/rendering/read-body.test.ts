import { expect, it } from "vitest";
import { runToEnd } from "../../../core/work/background.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { type SplitBody, splitBody } from "../../../core/rendering/read-body.ts";

const MB = 1024 * 1024;
async function split(body: object): Promise<SplitBody> {
  const steps = await splitBody.load();
  return runToEnd(steps({ bytes: utf8(JSON.stringify(body)) }));
}

it("takes a page of any length out of its request", async () => {
  const html = "a".repeat(5 * MB);
  const { bytes, html: page } = await split({ html, userAgent: "b" });
  expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual({ html: "page", userAgent: "b" });
  expect(page).toHaveLength(5 * MB);
});

it.each([
  ["a page", { html: "<p>" }],
  ["an address", { url: "https://example.com/" }],
])("refuses other fields that would hold up the process, beside %s", async (_, page) => {
  const tag = (length: number) => ({ ...page, addScriptTag: [{ content: "a".repeat(length) }] });
  await expect(split(tag(3 * MB))).resolves.toMatchObject({ bytes: expect.any(Uint8Array) });
  await expect(split(tag(4 * MB))).rejects.toMatchObject({
    kind: "too_large",
    message: expect.stringMatching(
      /^All fields but html have at most 4194304 bytes, got 41943\d\d/u,
    ),
  });
});
