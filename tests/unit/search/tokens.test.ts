import { afterEach, describe, expect, it } from "vitest";
import { directoryAt } from "../../../core/search/directory/directory.ts";
import { openToken } from "../../../core/search/directory/token-secrets.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api.close());

const body = { name: "Archive", cf_api_id: "AKID", cf_api_key: "the-secret-key" };
const masterSecret = "a-master-secret-of-this-test";

describe("a token of an account", () => {
  it("is made, read, listed, replaced and deleted, and never shows its key", async () => {
    api = await searchUnderTest();
    const made = await api.call("POST", "/tokens", body);
    expect(made.body.result).toMatchObject({ name: "Archive", cf_api_id: "AKID", enabled: true });
    const { id } = made.body.result;
    await api.call("POST", "/tokens", { ...body, name: "Other" });
    const listed = await api.call("GET", "/tokens?search=ARCH");
    expect(listed.body.result.map(({ name }) => name)).toEqual(["Archive"]);
    expect(listed.body.result_info).toMatchObject({ total_count: 1 });
    const changed = await api.call("PUT", `/tokens/${id}`, { ...body, name: "New" });
    expect(changed.body.result).toMatchObject({ id, name: "New" });
    const read = await api.call("GET", `/tokens/${id}`);
    for (const answer of [made, listed, changed, read])
      expect(JSON.stringify(answer)).not.toContain("the-secret-key");
    expect((await api.call("DELETE", `/tokens/${id}`)).body.result).toMatchObject({ id });
    expect((await api.call("GET", `/tokens/${id}`)).body.errors[0]?.code).toBe(7075);
    expect((await api.call("PUT", `/tokens/${id}`, body)).body.errors[0]?.code).toBe(7075);
  });

  it("is kept while an instance uses it", async () => {
    api = await searchUnderTest();
    const { id } = (await api.call("POST", "/tokens", body)).body.result;
    // Nobody listens there: the job fails, and the instance stays.
    const source_params = { endpoint: "https://store.invalid" };
    await api.call("PUT", "/instances/main", { source: "docs", source_params, token_id: id });
    const refused = await api.call("DELETE", `/tokens/${id}`);
    expect([refused.status, refused.body.errors[0]]).toEqual([
      409,
      { code: 7076, message: 'token_conflict: the instance "main" uses it' },
    ]);
    await api.call("PUT", "/instances/main", {
      source: null,
      source_params: null,
      token_id: null,
      sync_interval: null,
    });
    expect((await api.call("DELETE", `/tokens/${id}`)).status).toBe(200);
  });

  it("is sealed, under one account and id, and opens with former master secrets", async () => {
    api = await searchUnderTest({ masterSecret });
    const { platform } = api;
    const { id } = (await api.call("POST", "/tokens", body)).body.result;
    const stored = await directoryAt(platform, "acme").sealedToken(id);
    expect(JSON.stringify(stored)).not.toContain("the-secret-key");
    const credentials = { accessKeyId: "AKID", secretAccessKey: "the-secret-key" };
    expect(await openToken({ platform, masterSecret }, "acme", id)).toEqual(credentials);
    const now = { platform, masterSecret: "another-master-secret" };
    await expect(openToken(now, "acme", id)).rejects.toThrow("cannot be opened");
    const former = { ...now, formerMasterSecrets: [masterSecret] };
    expect(await openToken(former, "acme", id)).toEqual(credentials);
    // Moved to another account, it is worth nothing.
    await directoryAt(platform, "thief").putToken(stored, true);
    await expect(openToken({ platform, masterSecret }, "thief", id)).rejects.toThrow("cannot be");
  });

  it("without a master secret is sealed by a key beside the data, which goes on opening it", async () => {
    api = await searchUnderTest();
    const { platform } = api;
    const { id } = (await api.call("POST", "/tokens", body)).body.result;
    const opened = await openToken({ platform }, "acme", id);
    expect(opened.secretAccessKey).toBe("the-secret-key");
    expect(await openToken({ platform, masterSecret }, "acme", id)).toEqual(opened);
  });

  it.each([
    [{ ...body, cf_api_key: "a\r\nb" }, "cf_api_key"],
    [{ ...body, name: "" }, "name"],
    [{ name: "a", cf_api_key: "b" }, "cf_api_id"],
  ])("is refused as %j, by the name of the field", async (input, field) => {
    api = await searchUnderTest();
    const { status, body: answer } = await api.call("POST", "/tokens", input);
    expect([status, answer.errors[0]?.message]).toEqual([400, expect.stringContaining(field)]);
  });
});
