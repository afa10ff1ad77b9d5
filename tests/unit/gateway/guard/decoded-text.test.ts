import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBase64, toBase64Url, utf8 } from "../../../../core/crypto/encoding.ts";
import { profiles } from "../../../../core/gateway/guard/checkers/policies.ts";
import type { CheckResult } from "../../../../core/gateway/guard/detect/checker.ts";
import {
  decodedTokens,
  unescapedForm,
} from "../../../../core/gateway/guard/detect/decoded-form.ts";
import { patternChecker, spansOf } from "../../../../core/gateway/guard/detect/pattern.ts";

const { signal } = new AbortController();
const CARD = "4111 1111 1111 1111";
const base64 = (text: string): string => toBase64(utf8(text));

async function found(profile: string, text: string): Promise<Record<string, number>> {
  const result = (await profiles[profile]?.check(text, "prompt", signal)) as CheckResult;
  return Object.fromEntries(result.findings.map(({ type, count }) => [type, count]));
}

describe("data loss prevention decodes once", () => {
  const note = `Dear Ann, my card is ${CARD}, thank you.`;
  it.each([
    ["base64", `decode ${base64(note)} please`],
    ["base64 without padding", `decode "${base64(`x${CARD}`.slice(1)).replaceAll("=", "")}"`],
    ["the alphabet of URLs", `token=${toBase64Url(utf8(`${note} ÿÿ?~~`))}&x=1`],
    ["the address of data", `data:text/plain;base64,${base64(note)}`],
    ["a segment of a path", `https://example.org/open/${base64(CARD)}`],
    [
      "wrapped base64",
      `file:\n${(base64(`${"a".repeat(60)}${note}${"b".repeat(80)}`).match(/.{1,76}/g) ?? []).join("\n")}\nbye`,
    ],
    ["escapes of URLs", "card=4111%201111%201111%201111"],
    ["a form", "card=4111+1111+1111+1111&name=Ann"],
    [
      "every character escaped",
      CARD.replaceAll(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`),
    ],
    ["entities", "4111&nbsp;1111&#160;1111&#xA0;1111"],
    ["digits as entities", CARD.replaceAll("4", "&#52;").replaceAll("1", "&#x31;")],
  ])("%s", async (_, text) => {
    expect(await found("financial", text)).toEqual({ credit_card: 1 });
  });

  it("addresses and keys as well", async () => {
    expect(
      await found("pii", "ann%40example.org bob&#64;example.org c&commat;example.org"),
    ).toEqual({
      email: 3,
    });
    const secret = ["sk", "-proj-", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"].join("");
    expect(await found("secrets", base64(secret))).toEqual({ secret: 1 });
  });

  it("and counts what is there in both readings once", async () => {
    expect(await found("financial", `${CARD} &amp; 100%25`)).toEqual({ credit_card: 1 });
    expect(await found("financial", `${CARD} and ${base64(CARD)}`)).toEqual({ credit_card: 2 });
  });

  it.each([
    ["encoded twice", base64(base64(CARD))],
    ["escaped twice", "4111%25201111%25201111%25201111"],
    ["an entity of an entity", "4111&amp;nbsp;1111&amp;nbsp;1111&amp;nbsp;1111"],
    ["shorter than a number can be", base64("4111 1111 1")],
    ["longer than a text would be", base64(`${"a".repeat(13_000)} ${CARD} `)],
    ["an entity beyond Unicode", "4111&#1114112;1111 1111 1111"],
  ])("but nothing that is %s", async (_, text) => {
    expect(await found("financial", text)).toEqual({});
  });

  it("takes nothing for text that is none", () => {
    const image = Uint8Array.from({ length: 3000 }, (_unused, at) => (at * 7919 + 13) & 255);
    expect(decodedTokens(toBase64(image))).toBe("");
    const words =
      "internationalization /usr/local/lib/node_modules/library 9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d";
    expect(decodedTokens(words)).toBe("");
  });
});

describe("whatever is in a text", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => toBase64(bytes)),
    fc.string({ maxLength: 200 }).map((text) => base64(text)),
    fc
      .array(
        fc.constantFrom("%", "&#", "x", ";", "&nbsp;", "%34", "&#52;", "/", "\n", "a".repeat(20)),
        {
          maxLength: 60,
        },
      )
      .map((parts) => parts.join("")),
  );

  it("decoded tokens are never longer together than the text", () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 8 }), (parts) => {
        const text = parts.join(" ");
        expect(decodedTokens(text).length).toBeLessThanOrEqual(text.length);
      }),
    );
  });

  it("a text without its escapes is no longer than with them", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const ascii = text.replaceAll(/[^\x20-\x7e\n]/g, "");
        expect(unescapedForm(ascii).length).toBeLessThanOrEqual(ascii.length);
      }),
    );
  });

  it("a card number is found in base64 between any words", async () => {
    const word = fc.stringMatching(/^[a-z]{1,10}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { maxLength: 20 }),
        fc.array(word, { maxLength: 20 }),
        async (a, b) => {
          const text = [...a, CARD, ...b].join(" ");
          expect(await found("financial", `${a.join(" ")} ${base64(text)} ${b.join(" ")}`)).toEqual(
            {
              credit_card: 1,
            },
          );
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("a long text", () => {
  it("loses no finding to a form that only the border of two windows has", async () => {
    const text = `secret ${"a ".repeat(16_000)}${"q ".repeat(1000)}${"z ".repeat(16_000)}`;
    const pattern = {
      type: "x",
      find: (read: string) => spansOf(read, [/secret/g, /^q[q ]*$/g]),
    };
    const pause = (): Promise<void> => Promise.resolve();
    const result = await patternChecker([pattern]).check(text, "prompt", signal, pause);
    expect(result.findings).toEqual([{ type: "x", count: 1 }]);
  });
});

describe("millions of characters", () => {
  const piece = base64("Some words of a text. ".repeat(500));
  it.each([
    ["one run of base64", "QUJD".repeat(2_500_000)],
    ["tokens as long as can be", `${piece}.`.repeat(Math.ceil(1_000_000 / piece.length))],
    ["short tokens", `${base64(CARD)} `.repeat(34_500)],
    ["escapes", "%34&#52;".repeat(125_000)],
  ])("%s are read in time in proportion, and in small pieces", async (_, text) => {
    let sum = 0;
    let since = 0;
    let most = 0;
    const counting = {
      type: "x",
      find: (read: string) => {
        sum += read.length;
        since += read.length;
        most = Math.max(most, since);
        return [];
      },
    };
    const pause = (): Promise<void> => {
      since = 0;
      return Promise.resolve();
    };
    await patternChecker([counting]).check(text, "prompt", signal, pause);
    expect(most).toBeLessThanOrEqual(160_000);
    expect(sum).toBeLessThan(text.length * 10);
  });
});
