import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actorClient } from "../../../core/actors/actor-client.ts";
import { type Directory, directoryKind } from "../../../core/search/directory/directory.ts";
import type { InstanceSettings } from "../../../core/search/state/instance-settings.ts";
import {
  type SearchAnswer,
  searchUnderTest,
  type SearchUnderTest,
} from "../../fakes/search-api.ts";

interface Called {
  readonly status: number;
  readonly body: SearchAnswer;
}

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest();
  for (let n = 0; n < 60; n++) await api.upload(`doc-${n}.md`, `Document number ${n} about bread.`);
});
afterAll(() => api.close());
describe("instances", () => {
  it("are listed as they are when one is deleted and made at the same moment", async () => {
    const list = async () => {
      const { body } = await api.call("GET", "/instances?search=again");
      return body.result.map(({ id }) => id);
    };
    for (let round = 0; round < 15; round++) {
      await api.call("POST", "/instances", { id: "again" });
      await Promise.all([
        api.call("DELETE", "/instances/again"),
        api.call("POST", "/instances", { id: "again" }),
        api.call("PUT", "/instances/again", { max_num_results: 3 }),
      ]);
      const { status } = await api.call("GET", "/instances/again");
      expect(await list(), `round ${round}`).toEqual(status === 200 ? ["again"] : []);
    }
    await api.call("DELETE", "/instances/again");
    expect(await list()).toEqual([]);
  });

  it("are created with defaults, read, changed, listed and deleted, under both path forms", async () => {
    const created = await api.call("POST", "/namespaces/default/instances", { id: "shop_1" });
    expect(created.body.result).toMatchObject({
      id: "shop_1",
      namespace: "default",
      embedding_model: "builtin/lexical",
      ai_search_model: "builtin/extractive",
      max_num_results: 10,
      score_threshold: 0.4,
      index_method: { vector: true, keyword: true },
    });
    const changed = await api.call("PUT", "/instances/shop_1", {
      max_num_results: 3,
      score_threshold: 0.1,
    });
    expect(changed.body.result).toMatchObject({
      max_num_results: 3,
      score_threshold: 0.1,
      chunk_size: 256,
    });
    expect((await api.call("GET", "/namespaces/default/instances/shop_1")).body.result).toEqual(
      changed.body.result,
    );
    const listed = await api.call("GET", "/instances?search=SHOP");
    expect(listed.body.result).toEqual([changed.body.result]);
    expect(listed.body.result_info).toMatchObject({ page: 1, per_page: 20, total_count: 1 });
    expect((await api.call("POST", "/instances", { id: "shop_1" })).body.errors?.[0]?.code).toBe(
      7022,
    );
    expect((await api.call("DELETE", "/instances/shop_1")).body.result.id).toBe("shop_1");
    expect((await api.call("GET", "/instances/shop_1")).body.errors?.[0]).toMatchObject({
      code: 7002,
    });
    expect((await api.call("GET", "/instances/shop_1")).status).toBe(404);
    expect((await api.call("POST", "/instances", { id: "shop_1" })).status).toBe(200);
  });

  it("stay in the list when the deletion of a former one of the id comes late", async () => {
    const { actors } = api.platform;
    actors.define(directoryKind);
    const directory = actorClient<Pick<Directory, "drop">>(actors.get(directoryKind.name, "acme"));
    const some: unknown = (await api.call("POST", "/instances", { id: "late" })).body.result;
    await directory.drop({ ...(some as InstanceSettings), created_at: "2020-01-01T00:00:00.000Z" });
    expect((await api.call("GET", "/instances?search=late")).body.result).toEqual([some]);
    expect((await api.call("DELETE", "/instances/late")).status).toBe(200);
    expect((await api.call("GET", "/instances?search=late")).body.result).toEqual([]);
  });

  it("are made of an id that a process had taken when it was killed", async () => {
    const { actors } = api.platform;
    actors.define(directoryKind);
    const directory = actorClient<Pick<Directory, "reserve" | "list">>(
      actors.get(directoryKind.name, "acme"),
    );
    const some: unknown = (await api.call("GET", "/instances/main")).body.result;
    await directory.reserve({ ...(some as InstanceSettings), id: "half" });
    expect((await api.call("GET", "/instances/half")).status).toBe(404);
    const both = await Promise.all(
      [7, 8].map((n) => api.call("POST", "/instances", { id: "half", max_num_results: n })),
    );
    const [made, ...others] = both
      .filter(({ status }) => status === 200)
      .map(({ body }) => body.result);
    expect([made, others]).toEqual([expect.objectContaining({ id: "half" }), []]);
    expect((await api.call("GET", "/instances/half")).body.result).toEqual(made);
    expect((await api.call("GET", "/instances?search=half")).body.result).toEqual([made]);
    expect((await api.call("DELETE", "/instances/half")).status).toBe(200);
  });

  it.each([
    [{ id: "UPPER" }, 400],
    [{ id: "a--b" }, 400],
    [{ id: "a".repeat(33) }, 400],
    [{}, 400],
    [{ id: "x", chunk_size: 63 }, 7036],
    [{ id: "x", chunk_size: 100_000 }, 7036],
    [{ id: "x", chunk_overlap: 31 }, 400],
    [{ id: "x", max_num_results: 51 }, 400],
    [{ id: "x", index_method: { vector: false, keyword: false } }, 400],
    [{ id: "x", embedding_model: "@cf/baai/bge-m3" }, 7010],
    [{ id: "x", custom_metadata: [{ field_name: "Folder", data_type: "text" }] }, 400],
    [{ id: "x", cache_ttl: 601 }, 400],
    [{ id: "x", type: "r2" }, 400],
    [{ id: "x", source: "docs", source_params: { r2_jurisdiction: "eu" } }, 10501],
  ])("are refused as %j with %i", async (body, code) => {
    expect((await api.call("POST", "/instances", body)).body.errors?.[0]?.code).toBe(code);
  });

  it("serve only the legs that they have", async () => {
    await api.call("POST", "/instances", {
      id: "words",
      index_method: { vector: false, keyword: true },
    });
    await api.upload("a.md", "bread", { instance: "words" });
    const ask = (retrieval_type?: string): Promise<Called> =>
      api.call("POST", "/instances/words/search", {
        query: "bread",
        ai_search_options: { retrieval: retrieval_type === undefined ? {} : { retrieval_type } },
      });
    expect((await ask()).body.result.chunks).toHaveLength(1);
    for (const type of ["vector", "hybrid"])
      expect((await ask(type)).body.errors[0]!.code).toBe(7070);
  });

  it("rebuild their keyword and metadata indexes when these settings change", async () => {
    await api.call("POST", "/instances", { id: "shape" });
    await api.upload("a.md", "breadbasket", { instance: "shape", metadata: { team: "x" } });
    const find = async (
      retrieval: Record<string, unknown>,
      query: string = "breadbask",
    ): Promise<number> =>
      (
        await api.call("POST", "/instances/shape/search", {
          query,
          ai_search_options: { retrieval: { retrieval_type: "keyword", ...retrieval } },
        })
      ).body.result.chunks.length;
    expect(await find({}, "adbask")).toBe(0);
    await api.call("PUT", "/instances/shape", {
      indexing_options: { keyword_tokenizer: "trigram" },
      custom_metadata: [{ field_name: "team", data_type: "text" }],
    });
    expect(await find({}, "adbask")).toBe(1);
    expect(await find({ filters: { team: "x" } })).toBe(1);
    expect(await find({ filters: { team: "y" } })).toBe(0);
  });

  it("keep accounts and namespaces apart", async () => {
    await api.call("POST", "/namespaces", { name: "team-a", description: "A" });
    await api.call("POST", "/namespaces/team-a/instances", { id: "main" });
    const found = await api.call("POST", "/namespaces/team-a/instances/main/search", {
      query: "bread",
    });
    expect(found.body.result.chunks).toEqual([]);
    const other = await api.app.fetch(
      new Request("http://test/accounts/other/ai-search/instances/main"),
    );
    expect(other.status).toBe(404);
  });
});

describe("namespaces", () => {
  it("have a default and are created, changed, listed and deleted", async () => {
    expect((await api.call("GET", "/namespaces/default")).body.result.name).toBe("default");
    expect((await api.call("POST", "/namespaces", { name: "team-b" })).body.result).toMatchObject({
      name: "team-b",
      description: null,
    });
    expect((await api.call("POST", "/namespaces", { name: "team-b" })).body.errors?.[0]?.code).toBe(
      7064,
    );
    expect(
      (await api.call("PUT", "/namespaces/team-b", { description: "B" })).body.result.description,
    ).toBe("B");
    const names = (await api.call("GET", "/namespaces")).body.result.map((one) => one.name);
    expect(names).toEqual(expect.arrayContaining(["default", "team-b"]));
    await api.call("POST", "/namespaces/team-b/instances", { id: "i" });
    expect((await api.call("DELETE", "/namespaces/team-b")).status).toBe(409);
    await api.call("DELETE", "/namespaces/team-b/instances/i");
    expect((await api.call("DELETE", "/namespaces/team-b")).status).toBe(200);
    expect((await api.call("GET", "/namespaces/team-b")).body.errors?.[0]?.code).toBe(7063);
    expect(
      (await api.call("POST", "/namespaces/none/instances", { id: "i" })).body.errors?.[0]?.code,
    ).toBe(7063);
    expect((await api.call("DELETE", "/namespaces/default")).status).toBe(409);
  });

  it("search several instances at once and report those that fail", async () => {
    await api.call("POST", "/instances", { id: "second" });
    await api.upload("second.md", "bread again", { instance: "second" });
    const ask = (instance_ids: unknown, retrieval: unknown = {}): Promise<Called> =>
      api.call("POST", "/namespaces/default/search", {
        query: "bread",
        ai_search_options: { instance_ids, retrieval },
      });
    const { body } = await ask(["main", "second", "none"]);
    expect(new Set(body.result.chunks.map((chunk) => chunk.instance_id))).toEqual(
      new Set(["main", "second"]),
    );
    expect(body.result.chunks).toHaveLength(10);
    expect(body.result.errors).toMatchObject([{ instance_id: "none" }]);
    expect((await ask(["main", "none"], { return_on_failure: false })).body.errors[0]!.code).toBe(
      7049,
    );
    const none = await ask(["none", "neither"]);
    expect(none.body.errors[0]).toMatchObject({
      code: 7049,
      message: expect.stringMatching(/none: .*; neither: /u),
    });
    expect((await ask(Array.from({ length: 11 }, (_, n) => `i${n}`))).body.errors[0]!.code).toBe(
      7074,
    );
    expect((await ask(undefined)).status).toBe(400);
    const chat = await api.call("POST", "/namespaces/default/chat/completions", {
      messages: [{ role: "user", content: "bread again" }],
      ai_search_options: { instance_ids: ["second", "none"] },
    });
    expect(chat.body).toMatchObject({
      object: "chat.completion",
      errors: [{ instance_id: "none" }],
    });
    expect(chat.body.chunks[0]?.instance_id).toBe("second");
  });
});
