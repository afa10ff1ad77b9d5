import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hasTokenShape,
  isKeyShaped,
  isLinkShaped,
  isTokenShaped,
  newKey,
  newLinkToken,
  newToken,
} from "../../../core/auth/token-format.ts";

const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

describe("newToken()", () => {
  it("makes a prefix, 40 random digits and 6 digits of checksum", () => {
    expect(newToken(random)).toMatch(/^causey_[0-9A-Za-z]{46}$/);
  });

  it("makes what isTokenShaped() accepts, and never the same twice", () => {
    const tokens = Array.from({ length: 200 }, () => newToken(random));
    expect(tokens.every(isTokenShaped)).toBe(true);
    expect(new Set(tokens).size).toBe(200);
  });

  it("draws again for bytes that would make some digits likelier", () => {
    let calls = 0;
    const token = newToken((length) => {
      calls++;
      return new Uint8Array(length).fill(calls === 1 ? 255 : 0);
    });
    expect(calls).toBe(2);
    expect(token.slice(7, 47)).toBe("0".repeat(40));
  });
});

describe("isTokenShaped()", () => {
  it("refuses every change of a single character", () => {
    const token = newToken(random);
    fc.assert(
      fc.property(
        fc.nat(token.length - 1),
        fc.string({ minLength: 1, maxLength: 1 }),
        (at, char) => {
          const changed = token.slice(0, at) + char + token.slice(at + 1);
          expect(isTokenShaped(changed)).toBe(changed === token);
        },
      ),
    );
  });

  it("refuses anything else", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(isTokenShaped(text)).toBe(false);
        expect(isTokenShaped(`causey_${text}`)).toBe(false);
      }),
    );
  });
});

it("tokens, keys and links are told apart, and each is found within a text", () => {
  const made = [newToken(random), newKey(random), newLinkToken(random)];
  const forms = [isTokenShaped, isKeyShaped, isLinkShaped];
  for (const [at, text] of made.entries()) {
    expect(forms.map((isForm) => isForm(text))).toEqual(forms.map((_, form) => form === at));
    expect(hasTokenShape(`before ${text}, after`)).toBe(true);
    expect(hasTokenShape(text.slice(0, -1))).toBe(false);
  }
});
