import { expect, it } from "vitest";
import { eventually } from "../../cases/eventually.ts";
import type { Embedder } from "../../../core/ports.ts";
import { searchUnderTest } from "../../fakes/search-api.ts";

/** Makes vectors, but never ends with a text that holds `deadly`; each life of the process ends there. */
function deadlyEmbedder(): Embedder & { deadly: string | null; reads: number } {
  return {
    model: "test",
    dimensions: 2,
    deadly: null,
    reads: 0,
    embed(texts) {
      const { deadly } = this;
      if (deadly === null || !texts.some((text) => text.includes(deadly)))
        return Promise.resolve(texts.map(() => Float32Array.of(1, 1)));
      this.reads += 1;
      return new Promise(() => undefined);
    },
  };
}

it("a sync job leaves out an item whose indexing was cut off five times, and goes on with the others", async () => {
  const embedder = deadlyEmbedder();
  const settings = { index_method: { vector: true, keyword: false } };
  const open = () => searchUnderTest({ embedder }, settings, "interrupted-job");
  let api = await open();
  const items: { readonly id: string; readonly text: string }[] = [];
  for (const text of ["alpha", "beta", "gamma"]) {
    const { body } = await api.upload(`${text}.md`, `The text ${text}.`);
    items.push({ id: body.result.id, text });
  }
  // A job takes items in the order of their ids: the others come behind it.
  const [deadly] = items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  embedder.deadly = deadly?.text ?? "";
  // The job has to index all of them again.
  await api.call("PUT", "/instances/main", { chunk_size: 64 });
  const { body } = await api.call("POST", "/instances/main/jobs", {});
  const job = `/instances/main/jobs/${body.result.id}`;
  for (let life = 1; life <= 5; life++) {
    await eventually(() => embedder.reads === life, "the item is read");
    await api.close();
    api = await open();
  }
  let ended: unknown;
  await eventually(async () => {
    ended = (await api.call("GET", job)).body.result;
    return typeof ended === "object" && ended !== null && "end_reason" in ended;
  }, "the end of the job");
  expect(ended).toMatchObject({
    end_reason: "completed with 1 failed items",
    progress: { indexed: 2, failed: 1 },
  });
  expect(embedder.reads).toBe(5);
  const item = await api.call("GET", `/instances/main/items/${deadly?.id}`);
  expect(item.body.result).toMatchObject({
    status: "error",
    error: expect.stringContaining("Indexing was cut off 5 times"),
  });
  await api.close();
});
