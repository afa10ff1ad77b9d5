import { randomUUID } from "node:crypto";
import Cloudflare, { APIError, NotFoundError } from "cloudflare";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

const account = { account_id: inject("accountId") };
const base = `${inject("baseUrl")}/client/v4`;
const token = inject("token");
const cloudflare = new Cloudflare({ apiToken: token, baseURL: base, maxRetries: 0 });
const { aiSearch } = cloudflare;

const id = `sdk-${randomUUID().slice(0, 8)}`;
const name = "default";
const inDefault = { ...account, name };
const onInstance = { ...inDefault, id };
const messages = [{ role: "user" as const, content: "When does the ferry leave?" }];

async function upload(
  key: string,
  text: string,
): Promise<Cloudflare.AISearch.Namespaces.Instances.ItemUploadResponse> {
  const file = new File([text], key, { type: "text/markdown" });
  return aiSearch.namespaces.instances.items.upload(id, {
    ...inDefault,
    file: { file, metadata: JSON.stringify({ team: "a", other: 1 }), wait_for_completion: true },
  });
}

beforeAll(async () => {
  await aiSearch.namespaces.instances.create(name, {
    ...account,
    id,
    custom_metadata: [{ field_name: "team", data_type: "text" }],
  });
  await upload("ferry.md", "# Timetable\n\nThe ferry leaves at noon. It takes cars.");
});
afterAll(async () => {
  await aiSearch.namespaces.instances.delete(id, inDefault);
});

describe("cloudflare, aiSearch.namespaces.instances", () => {
  it("creates, reads, changes, lists and deletes", async () => {
    const other = `${id}-b`;
    const created = await aiSearch.namespaces.instances.create(name, {
      ...account,
      id: other,
      max_num_results: 5,
    });
    expect(created).toMatchObject({ id: other, namespace: name, max_num_results: 5 });
    const changed = await aiSearch.namespaces.instances.update(other, {
      ...inDefault,
      score_threshold: 0.2,
    });
    expect(changed.score_threshold).toBe(0.2);
    expect((await aiSearch.namespaces.instances.read(other, inDefault)).max_num_results).toBe(5);
    const ids: string[] = [];
    for await (const instance of aiSearch.namespaces.instances.list(name, {
      ...account,
      search: id,
      per_page: 1,
    }))
      ids.push(instance.id);
    expect(ids.toSorted()).toEqual([id, other]);
    expect((await aiSearch.namespaces.instances.delete(other, inDefault)).id).toBe(other);
  });

  it("searches with filters and reads statistics", async () => {
    const found = await aiSearch.namespaces.instances.search(id, {
      ...inDefault,
      messages,
      ai_search_options: {
        retrieval: { retrieval_type: "hybrid", max_num_results: 3, filters: { team: "a" } },
      },
    });
    expect(found).toMatchObject({
      search_query: messages[0]?.content,
      query_kind: "text",
      chunks: [{ type: "text", item: { key: "ferry.md" } }],
    });
    const none = await aiSearch.namespaces.instances.search(id, {
      ...inDefault,
      query: "ferry",
      ai_search_options: { retrieval: { filters: { team: { $ne: "a" } } } },
    });
    expect(none.chunks).toEqual([]);
    expect(
      (await aiSearch.namespaces.instances.stats(id, inDefault)).completed,
    ).toBeGreaterThanOrEqual(1);
  });

  it("chats", async () => {
    const answer = await aiSearch.namespaces.instances.chatCompletions(id, {
      ...inDefault,
      messages,
    });
    expect(answer.choices[0]?.message.content).toContain("The ferry leaves at noon.");
    expect(answer.chunks[0]?.item?.key).toBe("ferry.md");
  });

  it("uploads, lists, reads, syncs, downloads and deletes items", async () => {
    const item = await upload("bread.md", "Knead the dough.");
    expect(item).toMatchObject({
      key: "bread.md",
      status: "completed",
      warnings: [{ code: "custom_metadata_field_not_filterable", field: "other" }],
    });
    const { items } = aiSearch.namespaces.instances;
    const keys: string[] = [];
    for await (const one of items.list(id, {
      ...inDefault,
      metadata_filter: '{"filename":"bread.md"}',
    }))
      keys.push(one.key);
    expect(keys).toEqual(["bread.md"]);
    expect((await items.get(item.id, onInstance)).checksum).toBe(item.checksum);
    expect((await items.sync(item.id, { ...onInstance, next_action: "INDEX" })).status).toBe(
      "completed",
    );
    expect(
      (await items.createOrUpdate(id, { ...inDefault, key: "bread.md", next_action: "INDEX" })).id,
    ).toBe(item.id);
    expect(await items.chunks(item.id, onInstance)).toMatchObject([
      { text: "Knead the dough.", start_byte: 0, end_byte: 16 },
    ]);
    expect((await items.logs(item.id, onInstance)).length).toBe(3);
    expect(await (await items.download(item.id, onInstance)).text()).toBe("Knead the dough.");
    expect(await items.delete(item.id, onInstance)).toEqual({ key: "bread.md" });
  });

  it("runs sync jobs", async () => {
    const { jobs } = aiSearch.namespaces.instances;
    const job = await jobs.create(id, { ...inDefault, description: "sdk" });
    const where = { ...inDefault, id };
    await expect.poll(async () => (await jobs.get(job.id, where)).end_reason).toBe("completed");
    expect((await jobs.list(id, inDefault)).result.map((one) => one.id)).toEqual([job.id]);
    expect((await jobs.logs(job.id, where)).length).toBeGreaterThanOrEqual(1);
    await expect(jobs.update(job.id, { ...where, action: "cancel" })).rejects.toThrow("7046");
  });

  it("decodes errors", async () => {
    const missing = await aiSearch.namespaces.instances
      .read("does-not-exist", inDefault)
      .catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing instanceof APIError && missing.errors).toMatchObject([{ code: 7002 }]);
    const bad = await aiSearch.namespaces.instances
      .search(id, {
        ...inDefault,
        messages,
        ai_search_options: { retrieval: { max_num_results: 51 } },
      })
      .catch((error: unknown) => error);
    expect(bad instanceof APIError && bad.status).toBe(400);
  });
});

describe("cloudflare, the path form without a namespace", () => {
  it("reaches the same instance", async () => {
    const { instances } = aiSearch;
    expect((await instances.read(id, account)).id).toBe(id);
    expect((await instances.search(id, { ...account, messages })).chunks[0]?.item?.key).toBe(
      "ferry.md",
    );
    const answer = await instances.chatCompletions(id, { ...account, messages });
    expect(answer.choices[0]?.message.content).toContain("noon");
    expect((await instances.stats(id, account)).completed).toBeGreaterThanOrEqual(1);
    expect((await instances.update(id, { ...account, max_num_results: 7 })).max_num_results).toBe(
      7,
    );
    expect((await instances.list(account)).result.map((one) => one.id)).toContain(id);
    const other = `${id}-c`;
    await instances.create({ ...account, id: other });
    expect((await instances.jobs.list(other, account)).result).toEqual([]);
    expect((await instances.delete(other, account)).id).toBe(other);
  });
});

describe("cloudflare, aiSearch.namespaces", () => {
  it("creates, changes, lists and deletes namespaces, and searches across instances", async () => {
    const mine = `ns-${randomUUID().slice(0, 8)}`;
    expect(
      (await aiSearch.namespaces.create({ ...account, name: mine, description: "x" })).name,
    ).toBe(mine);
    expect(
      (await aiSearch.namespaces.update(mine, { ...account, description: "y" })).description,
    ).toBe("y");
    expect((await aiSearch.namespaces.read(mine, account)).description).toBe("y");
    expect((await aiSearch.namespaces.list({ ...account, search: mine })).result).toHaveLength(1);
    await aiSearch.namespaces.delete(mine, account);
    const found = await aiSearch.namespaces.search(name, {
      ...account,
      messages,
      ai_search_options: { instance_ids: [id] },
    });
    expect(found.chunks[0]).toMatchObject({ instance_id: id });
    const answer = await aiSearch.namespaces.chatCompletions(name, {
      ...account,
      messages,
      ai_search_options: { instance_ids: [id] },
    });
    expect(answer.choices[0]?.message.content).toContain("noon");
  });
});

describe("openai", () => {
  const openai = new OpenAI({
    apiKey: token,
    baseURL: `${base}/accounts/${inject("accountId")}/ai-search/instances/${id}`,
    maxRetries: 0,
  });

  it("chats with an instance", async () => {
    const answer = await openai.chat.completions.create({ model: "", messages });
    expect(answer.choices[0]?.message.content).toContain("The ferry leaves at noon.");
    expect(answer.model).toBe("builtin/extractive");
  });

  it("streams, with the chunks in the first delta", async () => {
    const stream = await openai.chat.completions.create({ model: "", messages, stream: true });
    let text = "";
    const sources: unknown[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]!.delta.content ?? "";
      if ("chunks" in chunk) sources.push(chunk.chunks);
    }
    expect(text).toContain("The ferry leaves at noon.");
    expect(sources).toEqual([[expect.objectContaining({ text: expect.any(String) })]]);
  });

  it("streams, with the chunks event switched off", async () => {
    const body = {
      model: "",
      messages,
      stream: true as const,
      stream_options: { include_chunks: false },
    };
    const stream = await openai.chat.completions.create(
      body as OpenAI.ChatCompletionCreateParamsStreaming,
    );
    let text = "";
    let finish: string | null = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
    }
    expect(text).toContain("The ferry leaves at noon.");
    expect(finish).toBe("stop");
  });

  it("throws its own error for a refusal", async () => {
    const refused = await openai.chat.completions
      .create({ model: "gpt-4o", messages })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
  });
});
