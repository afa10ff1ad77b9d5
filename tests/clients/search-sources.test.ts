import { randomUUID } from "node:crypto";
import Cloudflare, { APIError } from "cloudflare";
import { afterAll, describe, expect, inject, it } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { bucketKey } from "../fakes/search-bucket.ts";

const account = { account_id: inject("accountId") };
const token = inject("token");
const base = `${inject("baseUrl")}/client/v4`;
const { aiSearch } = new Cloudflare({ apiToken: token, baseURL: base, maxRetries: 0 });
const { instances } = aiSearch.namespaces;

const id = `src-${randomUUID().slice(0, 8)}`;
const inDefault = { ...account, name: "default" };
const onInstance = { ...inDefault, id };
const made: string[] = [];
const key = { ...account, cf_api_id: bucketKey.id, cf_api_key: bucketKey.secret };

afterAll(async () => {
  await instances.delete(id, inDefault).catch(() => undefined);
  for (const one of made) await aiSearch.tokens.delete(one, account).catch(() => undefined);
});

/** The job of an instance that was made just now, once it is over. */
async function firstJob(): Promise<{ readonly end_reason?: string; readonly source: string }> {
  for (;;) {
    for await (const job of instances.jobs.list(id, inDefault))
      if (job.ended_at !== undefined) return job;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("cloudflare, aiSearch.tokens and sources", LONG, () => {
  it("stores, reads, lists, replaces and deletes credentials", async () => {
    const name = `t-${randomUUID()}`;
    const created = await aiSearch.tokens.create({ ...key, name });
    made.push(created.id);
    expect(created).toMatchObject({ name, cf_api_id: bucketKey.id });
    expect(await aiSearch.tokens.read(created.id, account)).toMatchObject({ name });
    const changed = await aiSearch.tokens.update(created.id, { ...key, name: `${name}-b` });
    expect(changed.name).toBe(`${name}-b`);
    const found: string[] = [];
    for await (const one of aiSearch.tokens.list({ ...account, search: name.toUpperCase() }))
      found.push(one.id);
    expect(found).toEqual([created.id]);
    await aiSearch.tokens.delete(created.id, account);
    const gone = await aiSearch.tokens
      .read(created.id, account)
      .catch((error: unknown) => error as APIError);
    expect(gone).toMatchObject({ status: 404, errors: [{ code: 7075 }] });
  });

  it("follows a bucket of the operator's store", async () => {
    const { id: tokenId } = await aiSearch.tokens.create({ ...key, name: id });
    made.push(tokenId);
    const instance = await instances.create("default", {
      ...account,
      id,
      source: "docs",
      source_params: { prefix: "guide/" },
      token_id: tokenId,
      sync_interval: 900,
    });
    expect(instance).toMatchObject({
      type: "r2",
      source: "docs",
      source_params: { prefix: "guide/" },
      sync_interval: 900,
      token_id: tokenId,
    });
    expect(await firstJob()).toMatchObject({ end_reason: "completed", source: "schedule" });
    const items: string[] = [];
    for await (const item of instances.items.list(id, { ...inDefault, source: "r2:docs" }))
      items.push(`${item.key} ${item.status} ${item.source_id}`);
    expect(items.toSorted()).toEqual([
      "guide/ferry.md completed r2:docs",
      "guide/größe + maß.md completed r2:docs",
    ]);
    const { chunks } = await instances.search(id, { ...inDefault, query: "ferry at noon" });
    expect(chunks[0]?.item?.key).toBe("guide/ferry.md");
    const inUse = await aiSearch.tokens
      .delete(tokenId, account)
      .catch((error: unknown) => error as APIError);
    expect(inUse).toMatchObject({ status: 409, errors: [{ code: 7076 }] });
  });

  it("tells the end of a job as an event", async () => {
    const [job] = (await instances.jobs.list(id, inDefault)).result;
    const path = `/accounts/${onInstance.account_id}/ai-search/instances/${id}/jobs/${job?.id}/events`;
    const response = await fetch(`${base}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(await response.text()).toMatch(
      /^event: end\ndata: \{.*"end_reason":"completed".*\}\n\n$/u,
    );
  });

  it("reaches no private address that a caller names", async () => {
    const params = { endpoint: "http://169.254.169.254" };
    const refused = await instances
      // Our own addition, which the client's types do not know.
      .update(id, { ...inDefault, source_params: params as object })
      .catch((error: unknown) => error as APIError);
    expect(refused).toMatchObject({
      status: 400,
      message: expect.stringContaining("source_params.endpoint"),
    });
  });
});
