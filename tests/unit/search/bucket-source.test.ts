import { afterEach, describe, expect, it } from "vitest";
import { bucketKey, playedBucket, type PlayedBucket } from "../../fakes/search-bucket.ts";
import { searchUnderTest, type SearchUnderTest, type Shown } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
/** How far the clock of the instance is ahead. */
const skew = { ms: 0 };
afterEach(() => api.close());

const endpoint = "https://store.example";

/** An instance `main` whose source is the bucket; resolves when its first job is over. */
async function follow(
  bucket: PlayedBucket,
  params: Record<string, unknown> = {},
  secret: string = bucketKey.secret,
): Promise<Shown> {
  api = await searchUnderTest(
    { masterSecret: "a-master-secret-of-this-test" },
    {},
    undefined,
    {},
    { egress: bucket },
    skew,
  );
  const token = { name: "store", cf_api_id: bucketKey.id, cf_api_key: secret };
  const { body: made } = await api.call("POST", "/tokens", token);
  const { status, body } = await api.call("PUT", "/instances/main", {
    source: "docs",
    source_params: { endpoint, ...params },
    token_id: made.result.id,
  });
  expect([status, body.result?.type, body.result?.sync_interval]).toEqual([200, "r2", 21_600]);
  return nextJob(0);
}

/** The job that is the newest of more than `before`, once it is over. */
async function nextJob(before: number): Promise<Shown> {
  for (;;) {
    const { body } = await api.call("GET", "/instances/main/jobs");
    const [job] = body.result;
    if (body.result.length > before && job?.ended_at !== undefined) return job;
    await api.platform.system.sleep(5);
  }
}

/** Begins another job as if the pause between two were over, and waits for its end. */
async function syncAgain(): Promise<Shown> {
  const { body } = await api.call("GET", "/instances/main/jobs");
  skew.ms += 60_000;
  expect((await api.call("POST", "/instances/main/jobs")).status).toBe(200);
  return nextJob(body.result.length);
}

/** Has the schedule begin a job, as it does after each change of the source's settings, and waits for its end. */
async function syncBySchedule(): Promise<Shown> {
  const { body } = await api.call("GET", "/instances/main/jobs");
  skew.ms += 60_000;
  const params = { endpoint, include_items: ["**"] };
  const changed = await api.call("PUT", "/instances/main", { source_params: params });
  expect(changed.status).toBe(200);
  return nextJob(body.result.length);
}

async function items(): Promise<Map<string, Shown>> {
  const { body } = await api.call("GET", "/instances/main/items?per_page=100");
  return new Map(body.result.map((item) => [item.key, item]));
}

async function logOf(job: Shown): Promise<string[]> {
  const { body } = await api.call("GET", `/instances/main/jobs/${job.id}/logs?per_page=100`);
  return body.result.map(({ message }) => message);
}

describe("an instance whose source is a bucket", () => {
  it("indexes its objects, whatever their keys hold, in signed requests", async () => {
    const bucket = playedBucket({
      "ferry.md": "# Ferry\n\nThe ferry leaves at noon.",
      "deep/Größe & Maß + 1 (neu)*!'.md": "# Bread\n\nKnead the dough.",
      "deep/": "",
      "deep/z.csv": { text: "a,b\n1,2\n", type: "text/csv" },
      "zz.md": "The last one.",
    });
    const job = await follow(bucket);
    expect(job).toMatchObject({ source: "schedule", end_reason: "completed" });
    expect(job.progress).toMatchObject({ indexed: 4, failed: 0, unchanged: 0, deleted: 0 });
    const found = await items();
    expect([...found.keys()].toSorted()).toEqual([
      "deep/Größe & Maß + 1 (neu)*!'.md",
      "deep/z.csv",
      "ferry.md",
      "zz.md",
    ]);
    expect(found.get("ferry.md")).toMatchObject({
      status: "completed",
      source_id: "r2:docs",
      metadata: { timestamp: Date.parse("2026-01-02T03:04:05Z") },
    });
    expect((await api.search("when does the ferry leave"))[0]?.item.key).toBe("ferry.md");
    expect(bucket.asked.every((path) => path.startsWith("/docs/"))).toBe(true);
  });

  it("leaves out keys that are longer than a bucket's can be, and goes on behind them", async () => {
    const long = "a/".repeat(513);
    const objects = { "0.md": "First", [`${long}b.md`]: "Too long", "b.md": "Last" };
    const job = await follow(playedBucket(objects));
    expect(job.progress).toMatchObject({ indexed: 2, failed: 0 });
    expect([...(await items()).keys()].toSorted()).toEqual(["0.md", "b.md"]);
  });

  it("waits while it is paused, and goes on where it was when that is over", async () => {
    const keys = Array.from({ length: 25 }, (_, n) => `${String(n).padStart(2, "0")}.md`);
    const bucket = playedBucket(Object.fromEntries(keys.map((key) => [key, `About ${key}`])));
    const pause = (paused: boolean): Promise<unknown> =>
      api.call("PUT", "/instances/main", { paused });
    // Flags, not promises: on Workers, what waits for a promise of an object goes on inside of that object.
    const at = { fifth: false, pause: false };
    bucket.before = async (key) => {
      if (key !== "05.md") return;
      at.fifth = true;
      while (!at.pause) await api.platform.system.sleep(5);
    };
    const followed = follow(bucket);
    const asked = (): string[] => bucket.asked.filter((path) => !path.includes("?"));
    while (!at.fifth) await api.platform.system.sleep(5);
    await pause(true);
    at.pause = true;
    let indexed = 0;
    while (indexed < 6) {
      const { body } = await api.call("GET", "/instances/main/jobs");
      indexed = Number(body.result[0]?.progress?.["indexed"]);
      await api.platform.system.sleep(5);
    }
    // What it had begun it has taken in; the rest is left.
    expect(asked()).toHaveLength(indexed);
    expect(indexed).toBeLessThan(25);
    await pause(false);
    expect(await followed).toMatchObject({ end_reason: "completed" });
    expect(asked().toSorted()).toEqual(keys.map((key) => `/docs/${key}`));
    while ([...(await items()).values()].some(({ status }) => status !== "completed"))
      await api.platform.system.sleep(5);
    expect((await items()).size).toBe(25);
  });

  it("loads changed objects only, and deletes what is gone but no upload", async () => {
    const bucket = playedBucket({ "a.md": "Alpha", "b.md": "Beta", "c.md": "Gamma", "d.md": "D" });
    await follow(bucket);
    await api.upload("own.md", "An upload of a client.");
    bucket.objects.set("b.md", { text: "Beta, but newer" });
    bucket.objects.delete("c.md");
    bucket.asked.length = 0;
    const job = await syncAgain();
    expect(job.progress).toMatchObject({ indexed: 1, unchanged: 2, deleted: 1, failed: 0 });
    expect(bucket.asked.filter((path) => !path.includes("?"))).toEqual(["/docs/b.md"]);
    expect([...(await items()).keys()].toSorted()).toEqual(["a.md", "b.md", "d.md", "own.md"]);
    expect(await logOf(job)).toContain("Deleted c.md: r2:docs has it no longer");
  });

  it("keeps most of its items from a scheduled job, and deletes them by one that somebody starts", async () => {
    const keys = Array.from({ length: 16 }, (_, n) => `page-${n + 10}.md`);
    const bucket = playedBucket(Object.fromEntries(keys.map((key) => [key, key])));
    await follow(bucket);
    for (const key of keys.slice(0, 11)) bucket.objects.delete(key);
    const scheduled = await syncBySchedule();
    expect(scheduled).toMatchObject({ source: "schedule", progress: { unchanged: 5, deleted: 0 } });
    expect(await logOf(scheduled)).toContain(
      "Nothing of the source was deleted: 11 of its 16 items are missing. If they may go, start a sync job yourself",
    );
    expect((await items()).size).toBe(16);
    expect(await syncAgain()).toMatchObject({ source: "user", progress: { deleted: 11 } });
    expect([...(await items()).keys()].toSorted()).toEqual(keys.slice(11));
  });

  it("lets a scheduled job delete half of its items", async () => {
    const keys = Array.from({ length: 20 }, (_, n) => `page-${n + 10}.md`);
    const bucket = playedBucket(Object.fromEntries(keys.map((key) => [key, key])));
    await follow(bucket);
    for (const key of keys.slice(0, 10)) bucket.objects.delete(key);
    expect(await syncBySchedule()).toMatchObject({ source: "schedule", progress: { deleted: 10 } });
  });

  it("notes on an item why it could not be had, and goes on", async () => {
    const bucket = playedBucket({
      "a/../b.md": "Nobody asks for this.",
      "large.md": "x".repeat(4 * 1024 * 1024 + 1),
      "picture.md": { text: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1]) },
      "vanishes.md": "Soon gone.",
      "well.md": "This one is well.",
    });
    bucket.before = (key) => {
      if (key === "vanishes.md") bucket.objects.delete(key);
      return Promise.resolve();
    };
    const job = await follow(bucket);
    expect(job.end_reason).toBe("completed with 4 failed items");
    const found = await items();
    const errorOf = (key: string): unknown => [found.get(key)?.status, found.get(key)?.error];
    expect(errorOf("well.md")).toEqual(["completed", undefined]);
    expect(errorOf("a/../b.md")).toEqual(["error", expect.stringContaining("segment . or ..")]);
    expect(errorOf("large.md")).toEqual(["error", expect.stringContaining("4194304 bytes")]);
    expect(errorOf("picture.md")).toEqual(["error", expect.stringContaining("is a picture")]);
    expect(errorOf("vanishes.md")).toEqual([
      "error",
      expect.stringContaining("The object is gone"),
    ]);
    expect(bucket.asked.some((path) => path.includes("large"))).toBe(false);
  });

  it("follows a prefix and patterns", async () => {
    const bucket = playedBucket({
      "docs/a.md": "A",
      "docs/b.txt": "B",
      "docs/old/c.md": "C",
      "docs/new/d.md": "D",
      "other/e.md": "E",
    });
    await follow(bucket, {
      prefix: "docs/",
      include_items: ["/docs/**.md"],
      exclude_items: ["docs/old/*"],
    });
    expect([...(await items()).keys()].toSorted()).toEqual(["docs/a.md", "docs/new/d.md"]);
  });

  it("says why a bucket cannot be read, and deletes nothing then", async () => {
    const job = await follow(playedBucket({ "a.md": "A" }), {}, "a-wrong-secret");
    expect(job.end_reason).toBe(
      "error: instance_invalid_token: The bucket refuses the token (SignatureDoesNotMatch)",
    );
    expect((await items()).size).toBe(0);
  });

  it("ends with a reason where the store lists its first keys again and again", async () => {
    const keys = ["a", "b", "c", "d"].map((name) => [`${name}.md`, `The text of ${name}.`]);
    const bucket = playedBucket(Object.fromEntries(keys));
    const { answer } = bucket;
    let first: ReturnType<typeof answer> | null = null;
    bucket.answer = (url, headers) =>
      url.searchParams.has("list-type") ? (first ??= answer(url, headers)) : answer(url, headers);
    const job = await follow(bucket);
    expect(job.end_reason).toMatch(/^error: The bucket's list does not go on/u);
    expect((await items()).size).toBe(3);
  });

  it("is refused where its settings cannot be right, by the name of the field", async () => {
    api = await searchUnderTest();
    const { body: made } = await api.call("POST", "/tokens", {
      name: "a",
      cf_api_id: "a",
      cf_api_key: "b",
    });
    const token = made.result.id;
    for (const [settings, message] of [
      [{ source: "docs", token_id: token }, "source_params.endpoint: Needed"],
      [
        { source: "docs", source_params: { endpoint } },
        "instance_invalid_token: token_id: A bucket",
      ],
      [
        { source: "docs", source_params: { endpoint }, token_id: "no" },
        'instance_invalid_token: token_id: no token has the id "no"',
      ],
      [
        { source: "../x", source_params: { endpoint }, token_id: token },
        "source: expected the name",
      ],
      [{ type: "r2" }, 'source: Needed with the type "r2"'],
      [
        { source: "docs", source_params: { endpoint: "file:///etc" }, token_id: token },
        "source_params.endpoint: The URL scheme",
      ],
      [
        { source: "docs", source_params: { endpoint, region: "a/b" }, token_id: token },
        "source_params.region: expected",
      ],
      [
        { source: "docs", source_params: { endpoint, r2_jurisdiction: "eu" }, token_id: token },
        "source_params.r2_jurisdiction would have no effect",
      ],
      [{ sync_interval: 900 }, "sync_interval would have no effect"],
      [{ token_id: token }, "token_id would have no effect"],
    ] as const) {
      const { status, body } = await api.call("PUT", "/instances/main", settings);
      expect([status >= 400, body.errors[0]?.message]).toEqual([
        true,
        expect.stringContaining(message),
      ]);
    }
  });
});
