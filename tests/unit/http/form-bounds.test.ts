import { describe, expect, it } from "vitest";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { checkForm } from "../../../core/http/fields/form-bounds.ts";

const type = "multipart/form-data; boundary=x";
const part = (headers: string, body = "1"): string =>
  `--x\r\nContent-Disposition: form-data; name="a"\r\n${headers}\r\n${body}\r\n`;
const check = (text: string, contentType = type) =>
  checkForm(utf8(text), contentType, { parts: 3, headers: 200 });

describe("checkForm()", () => {
  it("passes forms within the bounds, whatever their boundary looks like", () => {
    expect(() => check(`${part("")}${part("X: y\r\n")}${part("")}--x--\r\n`)).not.toThrow();
    expect(() =>
      check(part("").replaceAll("--x", "--a b"), 'multipart/form-data; boundary="a b"'),
    ).not.toThrow();
    expect(() => check(part("", "--x".repeat(9)))).not.toThrow();
    expect(() => check("no form at all")).not.toThrow();
    expect(check("x", "multipart/form-data")).toBe("multipart/form-data");
  });

  it("names the boundary that it has counted, whichever a parser would take", () => {
    const counted = 'multipart/form-data; boundary="x"';
    expect(check(part(""))).toBe(counted);
    expect(check(part(""), 'multipart/form-data; a="; boundary=x"; boundary=y')).toBe(
      'multipart/form-data; boundary="y"',
    );
    expect(check(part(""), "multipart/form-data; boundary=x; boundary=y")).toBe(counted);
    for (const unclear of [
      String.raw`boundary="a\b"`,
      String.raw`boundary=a\b`,
      "boundary=",
      'boundary=a"b',
    ])
      expect(() => check(part(""), `multipart/form-data; ${unclear}`)).toThrow(
        "The form has no plain boundary",
      );
  });

  it("refuses more parts, and longer headers, with the number", () => {
    expect(() => check(`${part("").repeat(4)}--x--`)).toThrow("The form has more than 3 parts");
    expect(() => check(part("a: b\r\n".repeat(100)))).toThrow(
      "The form has headers of more than 200 bytes before part 1",
    );
    expect(() => check(`${part("")}--x\r\n${"a: b\r\n".repeat(100)}`)).toThrow("before part 2");
  });
});
