import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import { crawlUnderTest } from "../../../fakes/rendering-crawl.ts";

const url = "https://example.com/";

/** The secrets of a process. */
interface Secrets {
  readonly masterSecret?: string;
  readonly formerMasterSecrets?: readonly string[];
}

/** How a crawl ends that was begun by a process with some secrets and goes on in one with others. */
async function resumed(began: Secrets, then: Secrets): Promise<readonly [string, string[]]> {
  const data = `crawl-${crypto.randomUUID()}`;
  const hangs = { [url]: () => new Promise<string>(() => undefined) };
  const before = await crawlUnderTest(hangs, began, await openPlatform({ data }));
  const id = await before.begin({ url, source: "links", formats: ["markdown"] });
  await eventually(() => before.asked.some((one) => one.url === url), "the page is under way");
  await before.platform.close();
  const own = await openPlatform({ data });
  const log: string[] = [];
  const platform = {
    ...own,
    log: (_level: string, message: string) => void log.push(message),
  };
  const after = await crawlUnderTest({ [url]: "<p>read" }, then, platform);
  const { status, records } = await after.end(id);
  await own.close();
  expect(records.map(({ html }) => html)).toEqual([undefined]);
  expect(status === "errored" ? null : records[0]?.markdown).toBe(
    status === "errored" ? null : "read",
  );
  return [status, log.filter((line) => line.includes("sealed"))];
}

const first = { masterSecret: "first-master-secret" };
const second = { masterSecret: "second-master-secret" };

it.each([
  ["the key that its crawl was given", {}, {}],
  ["the master secret", first, first],
  ["a former master secret", first, { ...second, formerMasterSecrets: [first.masterSecret] }],
  ["the key that its crawl was given before there was a master secret", {}, first],
])("opens the request of a crawl with %s", async (_name, began, then) => {
  expect(await resumed(began, then)).toEqual(["completed", []]);
});

it("ends a crawl whose request no secret opens, and says so", async () => {
  expect(await resumed(first, second)).toEqual([
    "errored",
    ["A crawl has ended: the request that it keeps sealed cannot be opened"],
  ]);
});
