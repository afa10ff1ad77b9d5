import { splitText } from "../../../core/search/text/split.ts";
import { afterEach, describe, expect, it } from "vitest";
import { instanceAt, type Instance } from "../../../core/search/actor/instance-client.ts";
import { fakeEmbedder } from "../../fakes/search-models.ts";
import {
  answerOf,
  searchUnderTest,
  type SearchUnderTest,
  type Shown,
} from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api.close());

const main = (): Instance =>
  instanceAt(api.platform, { account: "acme", namespace: "default", id: "main" });
const stats = async (): Promise<Shown> =>
  (await api.call("GET", "/instances/main/stats")).body.result;

/** The item, once it has that status. */
async function statusOf(id: string, status: string): Promise<Shown> {
  for (;;) {
    const { result } = (await api.call("GET", `/instances/main/items/${id}`)).body;
    if (result.status === status) return result;
    await api.platform.system.sleep(5);
  }
}

interface BadUpload {
  readonly name?: string;
  readonly metadata?: string;
  readonly bytes?: Uint8Array | readonly number[];
}

describe("an item", () => {
  it("is indexed on upload, with its metadata, checksum and chunks", async () => {
    api = await searchUnderTest(
      {},
      { custom_metadata: [{ field_name: "Team", data_type: "text" }] },
    );
    const { status, body } = await api.upload("docs/a.md", "# Title\n\nSome text.", {
      metadata: { team: "x", extra: 1 },
    });
    expect(status).toBe(200);
    expect(body.result).toMatchObject({
      key: "docs/a.md",
      status: "completed",
      chunks_count: 1,
      file_size: 19,
      namespace: "default",
      next_action: null,
      source_id: "builtin",
      metadata: { team: "x", extra: 1, folder: "docs/", filename: "a.md" },
      warnings: [{ code: "custom_metadata_field_not_filterable", field: "extra" }],
    });
    expect(body.result.checksum).toMatch(/^[0-9a-f]{64}$/);
    const one = await api.call("GET", `/instances/main/items/${body.result.id}`);
    expect(one.body.result.id).toBe(body.result.id);
    const chunks = await api.call(
      "GET",
      `/namespaces/default/instances/main/items/${body.result.id}/chunks`,
    );
    expect(chunks.body.result).toMatchObject([
      { text: "# Title\n\nSome text.", start_byte: 0, end_byte: 19, item: { key: "docs/a.md" } },
    ]);
    const logs = await api.call("GET", `/instances/main/items/${body.result.id}/logs`);
    expect(logs.body.result).toMatchObject([
      { action: "INDEX", chunkCount: 1, errorType: null, fileKey: "docs/a.md" },
    ]);
  });

  it("comes back byte for byte, as a download that no browser runs", async () => {
    api = await searchUnderTest();
    const bytes = new TextEncoder().encode(
      "\ufeff<html><body><script>x</script><h1>Hi</h1><p>You</p></body></html>",
    );
    const { body } = await api.upload("page.html", bytes, { type: "text/html" });
    const response = await api.raw("GET", `/instances/main/items/${body.result.id}/download`);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("content-disposition")).toContain("attachment");
    const [chunk] = await api.search("hi");
    expect(chunk!.text).toBe("# Hi\n\nYou");
  });

  it("takes an injected HTML converter", async () => {
    api = await searchUnderTest({
      htmlToMarkdown: (html) => `# Converted\n\n${html.length} characters`,
    });
    await api.upload("page.html", "<p>x</p>", { type: "text/html" });
    expect((await api.search("converted"))[0]!.text).toBe("# Converted\n\n8 characters");
  });

  it("is replaced by an upload under the same key, and keeps its id", async () => {
    api = await searchUnderTest();
    const first = await api.upload("a.md", `${"alpha beta gamma. ".repeat(200)}zebra`);
    const second = await api.upload("a.md", "giraffe");
    expect(second.body.result).toMatchObject({ id: first.body.result.id, chunks_count: 1 });
    expect(await api.search("zebra", { retrieval_type: "keyword" })).toEqual([]);
    expect(await api.search("alpha", { retrieval_type: "vector", match_threshold: 0 })).toEqual([]);
    expect(await api.search("giraffe")).toHaveLength(1);
    expect(await stats()).toMatchObject({
      completed: 1,
      engine: { vectorize: { vectorsCount: 1 }, r2: { objectCount: 1, payloadSizeBytes: 7 } },
    });
  });

  it("leaves nothing behind when it is deleted", async () => {
    api = await searchUnderTest();
    const { body } = await api.upload("a.md", "zebra ".repeat(1000));
    const { status, body: deleted } = await api.call(
      "DELETE",
      `/instances/main/items/${body.result.id}`,
    );
    expect([status, deleted.result]).toEqual([200, { key: "a.md" }]);
    expect(await api.search("zebra", { match_threshold: 0 })).toEqual([]);
    expect(await stats()).toMatchObject({
      completed: 0,
      engine: { vectorize: { vectorsCount: 0 }, r2: { payloadSizeBytes: 0 } },
    });
    expect(
      (await api.call("GET", `/instances/main/items/${body.result.id}`)).body.errors?.[0]?.code,
    ).toBe(7041);
  });

  it("stays one item, with one set of chunks, under concurrent uploads", async () => {
    api = await searchUnderTest();
    const texts = Array.from({ length: 8 }, (_, n) => `version${n} `.repeat(300 * (n + 1)));
    await Promise.all(texts.map((text) => api.upload("a.md", text)));
    const { body } = await api.call("GET", "/instances/main/items");
    expect(body.result).toHaveLength(1);
    const chunks = (await stats()).engine.vectorize.vectorsCount;
    expect(body.result[0]!.chunks_count).toBe(chunks);
    const found = await Promise.all(
      texts.map((_, n) => api.search(`version${n}`, { retrieval_type: "keyword" })),
    );
    expect(found.filter((hits) => hits.length > 0)).toHaveLength(1);
  });

  it.each([
    ["a missing file", {}, 400, 7055],
    ["a key over 128 characters", { name: "k".repeat(129) }, 400, 7072],
    ["metadata that is no object", { metadata: "[1]" }, 400, 7056],
    ["bytes that are no text", { bytes: [0xff, 0xfe, 0] }, 400, 7060],
    ["a file over 4 MB", { bytes: new Uint8Array(4 * 1024 * 1024 + 1).fill(97) }, 413, 7054],
    ["a form far over the limit", { bytes: new Uint8Array(6 * 1024 * 1024).fill(97) }, 413, 7054],
  ])("refuses %s", async (_, { name = "a.md", metadata, bytes }: BadUpload, status, code) => {
    api = await searchUnderTest();
    const form = new FormData();
    if (name !== "a.md" || metadata !== undefined || bytes !== undefined) {
      form.set("file", new File([new Uint8Array(bytes ?? [97])], name, { type: "text/plain" }));
    } else form.set("file", "text");
    if (metadata !== undefined) form.set("metadata", metadata);
    const response = await api.raw("POST", "/instances/main/items", { body: form });
    expect([response.status, (await answerOf(response)).errors[0]?.code]).toEqual([status, code]);
    expect((await stats()).completed).toBe(0);
  });

  it("answers 7055 to a body that is no form and 400 to a broken one", async () => {
    api = await searchUnderTest();
    expect((await api.call("POST", "/instances/main/items", {})).body.errors?.[0]?.code).toBe(7055);
    const broken = await api.raw("POST", "/instances/main/items", {
      body: "x",
      headers: { "content-type": "multipart/form-data; boundary=a" },
    });
    expect(broken.status).toBe(400);
  });

  it("is listed by key, status, search and metadata, in pages", async () => {
    api = await searchUnderTest();
    for (const key of ["a/1.md", "a/2.md", "b/100%.md"]) await api.upload(key, `text of ${key}`);
    const keys = async (query: string): Promise<string[]> =>
      (await api.call("GET", `/instances/main/items?${query}`)).body.result.map((item) => item.key);
    expect(await keys("key=a/1.md")).toEqual(["a/1.md"]);
    expect(await keys("search=%25")).toEqual(["b/100%.md"]);
    expect(await keys("status=error")).toEqual([]);
    expect(await keys("source=r2:x")).toEqual([]);
    expect(
      (await keys(`metadata_filter=${encodeURIComponent('{"folder":"a/"}')}`)).toSorted(),
    ).toEqual(["a/1.md", "a/2.md"]);
    const page = await api.call(
      "GET",
      "/instances/main/items?page=2&per_page=2&sort_by=modified_at",
    );
    expect(page.body.result).toHaveLength(1);
    expect(page.body.result_info).toMatchObject({ page: 2, per_page: 2, count: 1, total_count: 3 });
    expect(
      (await api.call("GET", "/instances/main/items?metadata_filter={")).body.errors?.[0]?.code,
    ).toBe(7058);
    expect((await api.call("GET", "/instances/main/items?per_page=0")).status).toBe(400);
  });

  it("is indexed again by PUT and PATCH, and not made out of nothing", async () => {
    api = await searchUnderTest();
    const { body } = await api.upload("a.md", "zebra");
    for (const [method, path, more] of [
      ["PUT", "", { key: "a.md" }],
      ["PATCH", `/${body.result.id}`, {}],
    ] as const) {
      const again = await api.call(method, `/instances/main/items${path}`, {
        next_action: "INDEX",
        ...more,
      });
      expect(again.body.result).toMatchObject({
        id: body.result.id,
        status: "completed",
        chunks_count: 1,
      });
    }
    expect(await api.search("zebra")).toHaveLength(1);
    const none = await api.call("PUT", "/instances/main/items", {
      key: "none.md",
      next_action: "INDEX",
    });
    expect(none.body.errors?.[0]?.code).toBe(7041);
  });
});

describe("a long text", () => {
  it("is split beside the event loop, into the chunks that it has at once", async () => {
    const real = await searchUnderTest();
    const tasks: string[] = [];
    const { background } = real.platform;
    Object.assign(background, {
      run: (
        (run) =>
        (...[task, ...rest]: Parameters<typeof background.run>) => {
          tasks.push(task.name);
          return run(task, ...rest);
        }
      )(background.run.bind(background)),
    });
    const text = Array.from({ length: 2000 }, (_, n) => `Sentence ${n} is here.`).join(" ");
    const { body } = await real.upload("long.txt", text, { type: "text/plain" });
    const inline = splitText(text, { size: 256, overlapPercent: 10, format: "text" });
    expect(body.result.chunks_count).toBe(inline.length);
    expect(tasks).toContain("search/split-text");
    await real.close();
  });
});

/** The job at a path, once it has ended. */
async function endOf(path: string): Promise<Shown> {
  for (;;) {
    const { result } = (await api.call("GET", path)).body;
    if (result.ended_at !== undefined) return result;
    await api.platform.system.sleep(5);
  }
}

describe("a sync job", () => {
  it("indexes what the settings would have otherwise now, and nothing else", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "alpha beta gamma. ".repeat(40));
    await api.call("PUT", "/instances/main", { chunk_size: 64 });
    await api.upload("b.md", "zebra");
    const { body } = await api.call("POST", "/instances/main/jobs");
    const job = await endOf(`/instances/main/jobs/${body.result.id}`);
    expect(job).toMatchObject({
      end_reason: "completed",
      progress: { indexed: 1, failed: 0, unchanged: 1 },
    });
    const [a] = (await api.call("GET", "/instances/main/items?key=a.md")).body.result;
    expect(a!.chunks_count).toBeGreaterThan(1);
  });

  it("goes on after a restart where it was", async () => {
    const embedder = fakeEmbedder();
    const settings = { index_method: { vector: true, keyword: false } };
    const data = "search-job";
    api = await searchUnderTest({ embedder }, settings, data);
    for (const key of ["a.md", "b.md", "c.md"]) await api.upload(key, `The cat of ${key}.`);
    await api.call("PUT", "/instances/main", { chunk_size: 64 });
    await api.close();
    const slow = fakeEmbedder();
    slow.mode = "hang";
    api = await searchUnderTest({ embedder: slow }, {}, data);
    const { body } = await api.call("POST", "/instances/main/jobs");
    while (slow.calls.length === 0) await api.platform.system.sleep(5);
    await api.close();
    api = await searchUnderTest({ embedder }, {}, data);
    const job = await endOf(`/instances/main/jobs/${body.result.id}`);
    expect(job).toMatchObject({ end_reason: "completed", progress: { indexed: 3, failed: 0 } });
  });

  it("reports progress and has a cooldown", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "zebra");
    const started = await api.call("POST", "/instances/main/jobs", { description: "nightly" });
    expect(started.body.result).toMatchObject({ source: "user", description: "nightly" });
    const path = `/instances/main/jobs/${started.body.result.id}`;
    const job = await endOf(path);
    expect(job.end_reason).toBe("completed");
    expect((await api.call("GET", `${path}/logs`)).body.result).toMatchObject([
      { id: 1, message_type: 0 },
    ]);
    expect((await api.call("GET", "/instances/main/jobs")).body.result).toHaveLength(1);
    expect((await api.call("POST", "/instances/main/jobs")).body.errors?.[0]?.code).toBe(7020);
    expect((await api.call("PATCH", path, { action: "cancel" })).body.errors?.[0]?.code).toBe(7046);
    expect((await api.call("GET", "/instances/main/jobs/none")).body.errors?.[0]?.code).toBe(7021);
    expect(await api.search("zebra")).toHaveLength(1);
  });
});

describe("the text of an upload whose process dies", () => {
  it("is indexed by the queue", async () => {
    api = await searchUnderTest({}, {}, "search-lost");
    const upload = {
      key: "a.md",
      metadata: {},
      checksum: "x",
      contentType: "text/markdown",
      bytes: new TextEncoder().encode("zebra"),
    };
    const { itemId } = await main().begin(upload);
    expect(await api.search("zebra")).toEqual([]);
    await api.close();
    api = await searchUnderTest({}, {}, "search-lost");
    await statusOf(itemId, "completed");
    expect(await api.search("zebra")).toHaveLength(1);
  });
});

describe("an instance", () => {
  it("keeps its items over a restart of its actor", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "zebra");
    await main().train();
    expect(await api.search("zebra", { retrieval_type: "vector" })).toHaveLength(1);
  });
});
