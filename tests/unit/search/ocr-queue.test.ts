import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../cases/eventually.ts";
import type { Ocr } from "../../../core/search/mod.ts";
import { serveMcp } from "../../../core/search/mcp/mod.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api?.close());

const settings = { indexing_options: { use_ocr: true } };

/** A picture, told apart from others by its last byte. */
const jpeg = (last: number): Uint8Array => Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, last);

/** A model that reads a picture once the test has its text. */
function heldModel() {
  const texts = new Map<number, string>();
  const aborted: number[] = [];
  const asked: number[] = [];
  // It looks for the text itself: on Workers, nothing may wake the actor from outside.
  const ocr: Ocr = async ({ bytes }, signal) => {
    const picture = bytes.at(-1) ?? 0;
    asked.push(picture);
    while (!texts.has(picture) && !signal.aborted)
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (signal.aborted) aborted.push(picture);
    return texts.get(picture) ?? "";
  };
  return { ocr, texts, aborted, asked };
}

async function upload(picture: number, key = `${picture}.jpg`, instance = "main") {
  const given = { type: "image/jpeg", instance, wait: false };
  const { status, body } = await api.upload(key, jpeg(picture), given);
  expect(status).toBe(200);
  expect(["queued", "running"]).toContain(body.result.status);
  return body.result.id;
}

async function statusIs(id: string, status: string, instance = "main"): Promise<void> {
  const path = `/instances/${instance}/items/${id}`;
  await eventually(async () => {
    const { body } = await api.call("GET", path);
    return body.result.status === status;
  }, `status ${status}`);
}

describe("a file with pictures", () => {
  it("waits in the queue while others of its instance, and those of other instances, are indexed", async () => {
    const { ocr, texts, asked } = heldModel();
    api = await searchUnderTest({ ocr }, settings);
    await api.call("POST", "/instances", { id: "other", ...settings });
    const ids: string[] = [];
    for (const picture of [1, 2, 3]) ids.push(await upload(picture));
    await eventually(() => asked.length === 2, "two pictures are read");
    await statusIs(ids[0] ?? "", "running");
    const text = await api.upload("a.md", "A walrus.");
    expect(text.body.result.status).toBe("completed");
    const elsewhere = await upload(4, "4.jpg", "other");
    await eventually(() => asked.includes(4), "the picture of the other instance is read");
    texts.set(4, "An okapi.");
    await statusIs(elsewhere, "completed", "other");
    // The third waits for its turn.
    expect(asked).toEqual([1, 2, 4]);
    texts.set(1, "A numbat.");
    await eventually(() => asked.includes(3), "the third picture is read");
    await statusIs(ids[0] ?? "", "completed");
    expect(await api.search("numbat")).toHaveLength(1);
  });

  it("is read no further once its item is deleted, or another file takes its place", async () => {
    const { ocr, texts, aborted, asked } = heldModel();
    api = await searchUnderTest({ ocr }, settings);
    const id = await upload(1);
    await eventually(() => asked.includes(1), "the picture is read");
    // The same again changes nothing.
    expect(await upload(1)).toBe(id);
    expect(aborted).toEqual([]);
    expect((await api.call("DELETE", `/instances/main/items/${id}`)).status).toBe(200);
    await eventually(() => aborted.includes(1), "the model is called off");
    expect((await api.call("GET", `/instances/main/items/${id}`)).status).toBe(404);
    expect(asked).toEqual([1]);
    const next = await upload(2, "a.jpg");
    await eventually(() => asked.includes(2), "the picture is read");
    await upload(3, "a.jpg");
    await eventually(() => aborted.includes(2) && asked.includes(3), "the newer picture is read");
    texts.set(3, "An okapi.");
    await statusIs(next, "completed");
    expect(await api.search("okapi")).toHaveLength(1);
  });

  it("is read by the next process where one ends, and again after a failure of the model", async () => {
    const first = heldModel();
    api = await searchUnderTest({ ocr: first.ocr }, settings, "ocr-lost");
    const id = await upload(1);
    await eventually(() => first.asked.includes(1), "the picture is read");
    await api.close();
    let asked = 0;
    const ocr: Ocr = () => {
      asked++;
      return asked === 1 ? Promise.reject(new Error("secret")) : Promise.resolve("An okapi.");
    };
    api = await searchUnderTest({ ocr }, settings, "ocr-lost");
    await statusIs(id, "completed");
    expect(asked).toBe(2);
    expect(await api.search("okapi")).toHaveLength(1);
  });

  it("is left to the queue by a sync job, and read from the index by the tool fetch", async () => {
    let asked = 0;
    const ocr: Ocr = () => {
      asked++;
      return Promise.resolve("# Fees\n\nThe okapi pays nothing.");
    };
    api = await searchUnderTest({ ocr, mcp: serveMcp }, settings);
    const id = await upload(1);
    await statusIs(id, "completed");
    await api.call("PUT", "/instances/main", { chunk_size: 64 });
    const { body } = await api.call("POST", "/instances/main/jobs", {});
    const job = `/instances/main/jobs/${body.result.id}`;
    await eventually(async () => {
      const { result } = (await api.call("GET", job)).body;
      return result.end_reason === "completed";
    }, "the end of the job");
    const { body: log } = await api.call("GET", `${job}/logs`);
    expect(JSON.stringify(log.result)).toContain("its pictures wait to be read");
    await eventually(() => asked === 2, "the picture is read again");
    await statusIs(id, "completed");
    const params = { name: "fetch", arguments: { id } };
    const answer = await api.raw("POST", "/instances/main/mcp", {
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
    });
    expect(await answer.text()).toContain("The okapi pays nothing.");
    expect(asked).toBe(2);
  });
});
