import { describe, expect, it } from "vitest";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { checkForm, isMultipart, readForm } from "../../../core/http/fields/read-form.ts";

const bounds = { parts: 3, headers: 200 };
const type = "multipart/form-data; boundary=x";
const counted = 'multipart/form-data; boundary="x"';
const part = (headers: string, body = "1"): string =>
  `--x\r\nContent-Disposition: form-data; name="a"\r\n${headers}\r\n${body}\r\n`;
const check = (text: string, contentType = type) => checkForm(utf8(text), contentType, bounds);

describe("checkForm()", () => {
  it("passes forms within the bounds, whatever their boundary looks like", () => {
    const fine = { type: counted };
    expect(check(`${part("")}${part("X: y\r\n")}${part("")}--x--\r\n`)).toEqual(fine);
    const spaced = 'multipart/form-data; boundary="a b"';
    expect(check(part("").replaceAll("--x", "--a b"), spaced)).toEqual({ type: spaced });
    expect(check(part("", "--x".repeat(9)))).toEqual(fine);
    expect(check("no form at all")).toEqual(fine);
  });

  it("names the boundary that it has counted, whichever a parser would take", () => {
    expect(check(part(""), 'multipart/form-data; a="; boundary=x"; boundary=y')).toEqual({
      type: 'multipart/form-data; boundary="y"',
    });
    expect(check(part(""), "multipart/form-data; boundary=x; boundary=y")).toEqual({
      type: counted,
    });
  });

  it.each([
    String.raw`; boundary="a\b"`,
    String.raw`; boundary=a\b`,
    "; boundary=",
    '; boundary=a"b',
    "; boundary=\u0080",
    "",
  ])("refuses a boundary that parsers may read in two ways: %s", (unclear) => {
    expect(check(part(""), `multipart/form-data${unclear}`)).toEqual({
      fault: "no boundary of 1 to 70 ASCII characters",
    });
  });

  it("refuses more parts, and longer headers, with the number", () => {
    const many = { fault: "more than 3 parts" };
    expect(check(`${part("").repeat(4)}--x--`)).toEqual(many);
    // Some parsers take a line feed alone for the end of a line.
    expect(check(part("").repeat(4).replaceAll("1\r\n--x", "1\n--x"))).toEqual(many);
    const long = "headers of more than 200 bytes before part";
    expect(check(part("a: b\r\n".repeat(100)))).toEqual({ fault: `${long} 1` });
    expect(check(`${part("")}--x\r\n${"a: b\r\n".repeat(100)}`)).toEqual({ fault: `${long} 2` });
  });
});

describe("readForm()", () => {
  it("gives the fields", async () => {
    const form = await readForm(utf8(`${part("", "7")}--x--\r\n`), type, bounds);
    expect([...form]).toEqual([["a", "7"]]);
  });

  it("throws the caller's error for a form beyond the bounds, and for a body that is not a form", async () => {
    const read = (text: string) => readForm(utf8(text), type, bounds, "payload_invalid");
    await expect(read(part("").repeat(4))).rejects.toMatchObject({
      kind: "payload_invalid",
      message: "The form has more than 3 parts",
    });
    await expect(read("nothing")).rejects.toMatchObject({
      kind: "payload_invalid",
      message: "The body is not a well-formed form (multipart/form-data)",
    });
  });
});

it("isMultipart() goes by the whole media type", () => {
  expect(["multipart/form-data", "Multipart/Form-Data ; boundary=x"].map(isMultipart)).toEqual([
    true,
    true,
  ]);
  expect(["multipart/form-data-x", "multipart/mixed; boundary=x"].map(isMultipart)).toEqual([
    false,
    false,
  ]);
});
