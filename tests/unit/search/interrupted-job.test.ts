import { afterAll, expect, it } from "vitest";
import { eventually } from "../../cases/eventually.ts";
import { type SearchUnderTest, searchUnderTest } from "../../fakes/search-api.ts";

const data = `interrupted-job-${Date.now()}`;
let api: SearchUnderTest | undefined;
afterAll(() => api?.close());

/** Opens the API in another life of the process; `deadly` hears when an item is read that ends it. */
function open(deadly: (() => Promise<never>) | null): Promise<SearchUnderTest> {
  const htmlToMarkdown = (html: string): string | Promise<string> =>
    deadly !== null && html.includes("deadly") ? deadly() : html;
  return searchUnderTest({ htmlToMarkdown }, {}, data);
}

it("a sync job leaves out an item whose indexing was cut off five times, and goes on with the others", async () => {
  api = await open(null);
  const ids: string[] = [];
  for (const text of ["first", "deadly", "last"]) {
    const { body } = await api.upload(`${text}.html`, `<p>${text}</p>`, { type: "text/html" });
    ids.push(body.result.id);
  }
  await api.close();
  let job = "";
  let reads = 0;
  for (let life = 0; life < 5; life++) {
    let die: (error: Error) => void = () => undefined;
    let isRead: () => void = () => undefined;
    const read = new Promise<void>((resolve) => (isRead = resolve));
    api = await open(() => {
      reads += 1;
      isRead();
      return new Promise<never>((_, reject) => (die = reject));
    });
    if (life === 0) {
      // The job has to index all of them again.
      await api.call("PUT", "/instances/main", { chunk_size: 128 });
      const { body } = await api.call("POST", "/instances/main/jobs", {});
      job = `/instances/main/jobs/${body.result.id}`;
    }
    await read;
    const closed = api.close();
    die(new Error("The process ends"));
    await closed;
  }
  expect(reads).toBe(5);
  api = await open(() => {
    reads += 1;
    return Promise.reject(new Error("Read once more"));
  });
  const ended = api;
  let reason: unknown;
  await eventually(async () => {
    reason = (await ended.call("GET", job)).body.result["end_reason"];
    return reason !== undefined;
  }, "the end of the job");
  expect(reason).toBe("completed with 1 failed items");
  expect(reads).toBe(5);
  const item = await ended.call("GET", `/instances/main/items/${ids[1]}`);
  expect(item.body.result).toMatchObject({
    status: "error",
    error: expect.stringContaining("Indexing was cut off 5 times"),
  });
});
