import { expect, it } from "vitest";
import { longResponse } from "../../../core/http/long-response.ts";
import { responseNote } from "../../../core/http/response-note.ts";

const bytesFrom0 = (length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(length).map((_, at) => at % 251);

it("hands out a long body in parts, none of which is a copy", async () => {
  const bytes = bytesFrom0(9 * 1024 * 1024 + 5);
  const response = longResponse(bytes, { "content-type": "application/pdf" });
  const parts: Uint8Array[] = [];
  for await (const part of response.body ?? []) parts.push(part);
  expect(parts.length).toBe(10);
  for (const part of parts) expect(part.buffer).toBe(bytes.buffer);
  expect(parts.map(({ byteOffset }) => byteOffset / 1024 / 1024)).toEqual([
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
  ]);
  expect(parts.at(-1)?.length).toBe(5);
  expect(response.headers.get("content-type")).toBe("application/pdf");
  expect(response.headers.get("content-length")).toBe(String(bytes.length));
  expect(responseNote(response)?.body).toBe(bytes);
});

it("notes a short body as it is", async () => {
  const body = bytesFrom0(1000);
  const response = longResponse(body, new Headers({ "x-one": "1" }));
  expect(responseNote(response)?.body).toBe(body);
  expect(response.headers.get("x-one")).toBe("1");
  expect((await response.arrayBuffer()).byteLength).toBe(body.length);
});

it("ends where the reader leaves", async () => {
  const reader = longResponse(bytesFrom0(5 * 1024 * 1024), {}).body?.getReader();
  await reader?.read();
  await expect(reader?.cancel()).resolves.toBeUndefined();
});
