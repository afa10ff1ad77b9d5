import { expect, it } from "vitest";
import { openPlatform } from "#platform";
import { contentDecoding } from "../../../core/http/body/content-decoder.ts";
import { readBody } from "../../../core/rendering/static/fetch-document.ts";

/** A stream of zeros, packed a thousand to one. */
async function packed(format: CompressionFormat, megabytes: number): Promise<Uint8Array> {
  let left = megabytes;
  const zeros = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (left-- === 0) controller.close();
      else controller.enqueue(new Uint8Array(1_048_576));
    },
  });
  const stream = zeros.pipeThrough(new CompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

it.each([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["deflate", "deflate-raw"],
] as const)("%s gives out no more of %s at a time than a reader can hold", async (name, format) => {
  const { system, close } = await openPlatform();
  const decoder = contentDecoding(system).decoder(name);
  if (decoder === null) throw new Error("No decoder");
  const body = await packed(format, 32);
  const writer = decoder.writable.getWriter();
  writer.write(new Uint8Array(body)).catch(() => undefined);
  const reader = decoder.readable.getReader();
  const { value } = await reader.read();
  expect(value?.length).toBeGreaterThan(0);
  expect(value?.length).toBeLessThanOrEqual(1_048_576);
  await reader.cancel();
  await close();
});

it("a page that came packed gives out no more at a time than its reader counts", async () => {
  const body = await packed("gzip", 32);
  const answer = { status: 200, headers: [["content-encoding", "gzip"]] as const, body };
  const first = await readBody({ ...answer, headers: [...answer.headers] }, async (stream) => {
    const reader = stream.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    return value?.length;
  });
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThanOrEqual(4_500_000);
});
