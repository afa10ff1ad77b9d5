import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { uploadItem } from "../../../core/search/routes/index-item.ts";
import { instanceAt } from "../../../core/search/actor/instance-client.ts";
import { search } from "../../../core/search/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import { seedInstance } from "../../fakes/search-seed.ts";
import { topicTexts } from "../../fakes/search-corpus.ts";
import type { Chunk } from "../../../core/search/retrieve/chunk-view.ts";
import type { RetrievalType } from "../../../core/search/retrieve/search-input.ts";

let platform: Platform;
afterEach(() => platform.close());

/** One document per topic, one section (hence one chunk) per text. */
const documents = [0, 1, 2, 3, 4, 5].map((topic) => ({
  key: `topic-${topic}.md`,
  text: topicTexts
    .slice(topic * 60, topic * 60 + 60)
    .map((text, n) => `# ${n}\n\n${text}`)
    .join("\n\n"),
}));
const address = { account: "acme", namespace: "default", id: "topics" };

/** Opens search on the platform, with an instance that holds the documents. */
async function seed(order: typeof documents): Promise<void> {
  search({ platform });
  await seedInstance({ platform }, { account: "acme", id: "topics", documents: order });
}

async function find(query: string, type: RetrievalType): Promise<readonly Chunk[]> {
  const input = { query, type, limit: 10, threshold: 0 };
  return (await instanceAt(platform, address).search(input)).chunks;
}

/** The documents that chunks are of, each once. */
const keysOf = (chunks: readonly Chunk[]): string[] => [
  ...new Set(chunks.map((chunk) => chunk.item.key)),
];

describe("the builtin vectors of an instance", () => {
  it("are learned by themselves once there are 200 chunks", async () => {
    platform = await openPlatform();
    await seed(documents);
    const instance = instanceAt(platform, address);
    const engine = async (): Promise<string> => JSON.stringify((await instance.stats())["engine"]);
    while (!(await engine()).includes('"dimensions":640')) await platform.system.sleep(5);
    expect(await engine()).toContain('"vectorsCount":360');
    expect(keysOf(await find("melody and rhythm", "vector"))).toEqual(["topic-0.md"]);
  });

  it("rank the same whatever the order of the uploads", async () => {
    const runs: unknown[] = [];
    for (const order of [documents, documents.toReversed()]) {
      if (runs.length > 0) await platform.close();
      platform = await openPlatform();
      await seed(order);
      await instanceAt(platform, address).train();
      const chunks = await find("the judge hears a witness", "hybrid");
      runs.push(chunks.map(({ text, score }) => [text, score]));
      expect(keysOf(chunks)).toEqual(["topic-5.md"]);
    }
    expect(runs[1]).toEqual(runs[0]);
  });

  it("survive a restart with everything else", async () => {
    const data = "search-restart";
    platform = await openPlatform({ data });
    await seed(documents);
    await instanceAt(platform, address).train();
    const before = await find("yeast and flour", "hybrid");
    await platform.close();
    platform = await openPlatform({ data });
    search({ platform });
    expect(await find("yeast and flour", "hybrid")).toEqual(before);
  });
});

it("a training keeps no upload waiting, and what comes in meanwhile has vectors of it", async () => {
  platform = await openPlatform();
  await seed(documents);
  const instance = instanceAt(platform, address);
  await instance.train();
  const before = await engineOf();
  const training = instance.train();
  let trained = false;
  const over = training.then(() => (trained = true));
  const bytes = new TextEncoder().encode("The quokka hops over the island.");
  const upload = { key: "quokka.md", contentType: "text/markdown", bytes };
  const item = await uploadItem(instance, upload, true, { platform });
  expect([item.status, trained]).toEqual(["completed", false]);
  expect(keysOf(await find("quokka", "vector"))).toContain("quokka.md");
  await over;
  expect(keysOf(await find("quokka", "vector"))).toContain("quokka.md");
  expect(await engineOf()).toBe(before.replace("360", "361"));
});

async function engineOf(): Promise<string> {
  const { vectorize } = (await instanceAt(platform, address).stats())["engine"] as {
    readonly vectorize: unknown;
  };
  return JSON.stringify(vectorize);
}
