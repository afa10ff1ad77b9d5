import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visibleForm } from "../../../../core/gateway/guard/detect/plain-form.ts";
import { readBodyText as readBody } from "../../../../core/gateway/guard/text/body-text.ts";
import { atOnce } from "../../../../core/gateway/guard/text/slices.ts";
import { partsOf } from "../../../../core/gateway/wire/multipart.ts";
import { safetyOf } from "../../../../core/gateway/guard/checkers/safety.ts";
import { bytes } from "../../../fakes/gateway-transport.ts";

const CARD = "4111 1111 1111 1111";
const FORM = "multipart/form-data; boundary=Xy";
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xd8]);

function joined(...pieces: readonly (string | Uint8Array)[]): Uint8Array {
  const all = pieces.map((piece) => (typeof piece === "string" ? bytes(piece) : piece));
  return Uint8Array.from(all.flatMap((piece) => [...piece]));
}

/** A form as clients write it; each part is a head and a body. */
function form(parts: readonly (readonly [string, string | Uint8Array])[]): Uint8Array {
  return joined(
    ...parts.flatMap(([head, body]) => [`--Xy\r\n${head}\r\n\r\n`, body, "\r\n"]),
    "--Xy--\r\n",
  );
}

const bodyText = (...body: Parameters<typeof readBody>): string | null =>
  atOnce(readBody(...body)).text;

const disposition = (more: string): string => `Content-Disposition: form-data; ${more}`;

describe("partsOf()", () => {
  it("reads what FormData writes, whatever is in it", async () => {
    const text = fc.string({ unit: "binary", maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), async (values) => {
        const given = new FormData();
        for (const value of values) {
          given.append("field", value);
          given.append("file", new Blob([value], { type: "text/plain" }), "a b.txt");
        }
        const written = new Response(given);
        const type = written.headers.get("content-type") ?? "";
        const parts = partsOf(new Uint8Array(await written.arrayBuffer()), type);
        const files = parts?.filter(({ fileName }) => fileName !== null) ?? [];
        expect(parts).toHaveLength(2 * values.length);
        expect(
          files.map(({ body }) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(body)),
        ).toEqual(
          values.map((value) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(value))),
        );
        expect(
          files.every((file) => file.name === "file" && file.type.startsWith("text/plain")),
        ).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it("takes bare line feeds, quoted boundaries, a preamble, and parts without a head", () => {
    const body = bytes("before\n--a b\n\nx\n--a b\nContent-Type: TEXT/x\n\ny\r\nz\n--a b--");
    const parts = partsOf(body, 'multipart/mixed; boundary="a b"');
    expect(parts?.map((part) => [part.type, new TextDecoder().decode(part.body)])).toEqual([
      ["", "x"],
      ["text/x", "y\r\nz"],
    ]);
  });

  it("refuses what is no form, cut off, or made to be costly", () => {
    const whole = form([[disposition('name="a"'), "b"]]);
    for (let length = 0; length < whole.length - 4; length++)
      expect(partsOf(whole.subarray(0, length), FORM)).toBeNull();
    expect(partsOf(whole, "multipart/form-data")).toBeNull();
    expect(partsOf(bytes("--Xy--"), FORM)).toEqual([]);
    const many = form(Array.from({ length: 300 }, () => [disposition('name="a"'), ""] as const));
    expect(partsOf(many, FORM)).toBeNull();
    expect(partsOf(form([[`x: ${"y".repeat(10_000)}`, ""]]), FORM)).toBeNull();
    expect(partsOf(new Uint8Array(2 * 1024 * 1024).fill(45), FORM)).toBeNull();
  });
});

describe("bodyText()", () => {
  const read = (...parts: readonly (readonly [string, string | Uint8Array])[]): string | null =>
    bodyText(form(parts), FORM, "all");

  it("reads fields and files of text, and leaves out sound and images", () => {
    expect(read([disposition('name="prompt"'), "hello"])).toBe("prompt\n\nhello");
    expect(
      read(
        [`${disposition('name="f"; filename="a.csv"')}\r\nContent-Type: text/csv`, "x,y"],
        [`${disposition('name="i"; filename="a.png"')}\r\nContent-Type: image/png`, PNG],
      ),
    ).toBe("f\na.csv\nx,y");
    expect(read([disposition('name="i"; filename="a.png"'), PNG])).toBeNull();
  });

  it("is not misled by a declared type, JSON escapes in a file, or the coding of a form", () => {
    const file = `${disposition('name="f"; filename="a.jsonl"')}\r\nContent-Type: application/octet-stream`;
    const line = '{"x":"\\u0034111 1111 1111 1111"}\n';
    expect(read([file, line + line])).toContain(`${CARD}${CARD}`);
    expect(bodyText(bytes(JSON.stringify({ x: CARD })), "image/png", "all")).toContain(CARD);
    expect(bodyText(PNG, "image/png", "all")).toBeNull();
    const coded = String(new URLSearchParams({ a: CARD }));
    expect(bodyText(bytes(coded), "application/x-www-form-urlencoded", "all")).toContain(CARD);
  });

  it.each([FORM, "application/x-www-form-urlencoded"])(
    "reads JSON that is called %s as JSON: curl does, and servers take it",
    (type) => {
      const body = bytes('{"x":"\\u0034111 1111 1111 1111","a":1,"a":2}');
      const { text, duplicate, isJson } = atOnce(readBody(body, type, "all"));
      expect([text, duplicate, isJson]).toEqual([expect.stringContaining(CARD), "a", true]);
    },
  );

  it("looks at a form that cannot be read as it stands", () => {
    const cut = form([[disposition('name="a"'), CARD]]).subarray(0, -6);
    expect(bodyText(cut, FORM, "all")).toContain(CARD);
  });

  it("sees what hides in names, ids, deep inside or behind the look of an image", () => {
    const all = (value: unknown): string | null =>
      bodyText(bytes(JSON.stringify(value)), "application/json", "all");
    expect(all({ [CARD]: 1 })).toContain(CARD);
    expect(all({ messages: [{ tool: { input: { id: CARD, type: CARD } } }] })).toContain(CARD);
    expect(all({ x: `data:text/plain;base64,${CARD}` })).toContain(CARD);
    expect(all({ x: `data:text/plain;base64,${"A".repeat(2000)}` })).toBe("");
    let nested: unknown = CARD;
    for (let i = 0; i < 1000; i++) nested = [nested];
    expect(all({ nested })).toContain(CARD);
  });
});

it("bodyText() stops by what it has done, whatever the body is of", () => {
  const json = "application/json";
  // Values, lines and events. A slice is some thousand of them.
  const bodies: readonly (readonly [string, string, number])[] = [
    [json, `[${"1,".repeat(20_000)}1]`, 40_000],
    [json, `[${'"",'.repeat(20_000)}1]`, 40_000],
    [json, `[${'{"content":"x"},'.repeat(20_000)}1]`, 100_000],
    [json, `{"content":[${'"x",'.repeat(20_000)}1]}`, 40_000],
    [json, `{\n${"\n".repeat(40_000)}`, 40_000],
    [json, '{"a":1}\n'.repeat(20_000), 80_000],
    ["text/event-stream", "data: 1\n\n".repeat(20_000), 60_000],
    ["text/event-stream", `data: {\n${"data:\n".repeat(40_000)}\n`, 40_000],
    ["application/x-www-form-urlencoded", "a=1&".repeat(20_000), 40_000],
  ];
  for (const [type, body, steps] of bodies) {
    const stops = [...readBody(bytes(body), type, "all")].length;
    expect([type, body.slice(0, 9), stops > steps / 8192]).toEqual([type, body.slice(0, 9), true]);
  }
});

it("a text of marks upon one letter takes time in proportion to it", () => {
  // Sorting them would take minutes.
  expect(visibleForm(`e${"\u0301\u0323".repeat(500_000)}x`)).toBe("\u1eb9x");
  expect(visibleForm("e\u0301n\u0303")).toBe("éñ");
});

it("a policy that blocks sees the parts of a form", async () => {
  const dlp = { enabled: true, action: "BLOCK", profiles: ["financial"] } as const;
  const checks = safetyOf(
    { dlp: { ...dlp, profiles: ["financial"] } },
    {},
    { log: () => undefined },
  );
  const { signal } = new AbortController();
  const prompt = (body: Uint8Array) =>
    checks?.prompt({ headers: [["content-type", FORM]], body }, signal);
  const file = `${disposition('name="f"; filename="a"')}\r\nContent-Type: text/plain`;
  await expect(prompt(form([[file, `pay ${CARD}`]]))).rejects.toMatchObject({ code: 2029 });
  await expect(prompt(form([[file, "pay nothing"]]))).resolves.toBeNull();
  const image = [["content-type", "image/png"]] as const;
  const body = bytes(JSON.stringify({ x: CARD }));
  await expect(checks?.prompt({ headers: image, body }, signal)).rejects.toMatchObject({
    code: 2029,
  });
  await expect(checks?.prompt({ headers: image, body: PNG }, signal)).resolves.toBeNull();
});
