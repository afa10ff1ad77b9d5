import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headerText } from "../../../core/http/header-text.ts";

describe("headerText()", () => {
  it("leaves printable ASCII as it is", () => {
    expect(headerText("@cf/meta/llama-3.1 (8b)")).toBe("@cf/meta/llama-3.1 (8b)");
    expect(headerText("")).toBe("");
  });

  it("percent-encodes everything else, the percent sign and blanks at the ends", () => {
    expect(headerText("模型")).toBe("%E6%A8%A1%E5%9E%8B");
    expect(headerText("a\r\nb: c")).toBe("a%0D%0Ab: c");
    expect(headerText("100%")).toBe("100%25");
    expect(headerText("  a b  ")).toBe("%20 a b %20");
    expect(headerText("\ud83d")).toBe("%EF%BF%BD");
  });

  it("makes a header of any text, which decodeURIComponent gives back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        const value = headerText(text);
        expect(new Headers({ "x-test": value }).get("x-test")).toBe(value);
        expect(decodeURIComponent(value)).toBe(text);
      }),
    );
  });
});
