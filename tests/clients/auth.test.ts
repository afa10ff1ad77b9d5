import Cloudflare from "cloudflare";
import type { TokenPolicyParam } from "cloudflare/resources/shared";
import { describe, expect, inject, it } from "vitest";

const baseURL = `${inject("baseUrl")}/client/v4`;
const account_id = inject("accountId");

const client = (apiToken: string = inject("token")): Cloudflare =>
  new Cloudflare({ apiToken, baseURL, maxRetries: 0 });

async function policies(name: string): Promise<TokenPolicyParam[]> {
  for await (const group of client().user.tokens.permissionGroups.list({ name })) {
    const resources = { [`com.cloudflare.api.account.${account_id}`]: "*" };
    return [{ effect: "allow", permission_groups: [{ id: group.id! }], resources }];
  }
  throw new Error(`No permission group ${name}`);
}

describe("cloudflare user.tokens", () => {
  it("verifies the token that it was given", async () => {
    const verified = await client().user.tokens.verify();
    expect(verified.status).toBe("active");
    expect(verified.id).toMatch(/^[0-9a-f]{32}$/);
  });

  it("creates, gets, updates, rolls, lists and deletes a token", async () => {
    const { tokens } = client().user;
    const made = await tokens.create({
      name: "sdk",
      policies: await policies("AI Search Run"),
      expires_on: "2999-01-01T00:00:00Z",
    });
    const id = made.id!;
    expect(await client(made.value).user.tokens.verify()).toEqual({
      id,
      status: "active",
      expires_on: "2999-01-01T00:00:00Z",
    });
    expect((await tokens.get(id)).policies?.[0]?.permission_groups[0]?.name).toBe("AI Search Run");

    const changed = await tokens.update(id, {
      name: "renamed",
      policies: await policies("AI Gateway Run"),
    });
    expect([changed.name, changed.policies?.[0]?.permission_groups[0]?.name]).toEqual([
      "renamed",
      "AI Gateway Run",
    ]);

    const rolled = await tokens.value.update(id);
    expect((await client(rolled).user.tokens.verify()).id).toBe(id);
    await expect(client(made.value).user.tokens.verify()).rejects.toBeInstanceOf(
      Cloudflare.AuthenticationError,
    );

    const ids: unknown[] = [];
    for await (const token of tokens.list({ per_page: 5 })) ids.push(token.id);
    expect(ids).toContain(id);
    expect(await tokens.delete(id)).toEqual({ id });
    await expect(tokens.get(id)).rejects.toBeInstanceOf(Cloudflare.NotFoundError);
  });
});

describe("cloudflare accounts.tokens", () => {
  it("creates, gets, lists, updates, rolls, verifies and deletes a token of the account", async () => {
    const { tokens } = client().accounts;
    const made = await tokens.create({
      account_id,
      name: "owned",
      policies: await policies("AI Search Run"),
    });
    const id = made.id!;
    expect((await tokens.get(id, { account_id })).name).toBe("owned");
    expect((await client(made.value).accounts.tokens.verify({ account_id })).id).toBe(id);
    const body = {
      account_id,
      name: "off",
      policies: await policies("AI Search Run"),
      status: "disabled" as const,
    };
    expect((await tokens.update(id, body)).status).toBe("disabled");
    await expect(client(made.value).user.tokens.verify()).rejects.toBeInstanceOf(
      Cloudflare.AuthenticationError,
    );
    expect(await tokens.value.update(id, { account_id })).toMatch(/^causey_/);
    const ids: unknown[] = [];
    for await (const token of tokens.list({ account_id })) ids.push(token.id);
    expect(ids).toContain(id);
    expect(await tokens.delete(id, { account_id })).toEqual({ id });
  });

  it("cannot hand on what the token itself lacks", async () => {
    const maker = await client().accounts.tokens.create({
      account_id,
      name: "maker",
      policies: await policies("API Tokens Edit"),
    });
    const stronger = client(maker.value).accounts.tokens.create({
      account_id,
      name: "stronger",
      policies: await policies("AI Gateway Run"),
    });
    await expect(stronger).rejects.toMatchObject({ status: 403, errors: [{ code: 10403 }] });
    await client().accounts.tokens.delete(maker.id!, { account_id });
  });

  it("lists and gets accounts", async () => {
    expect((await client().accounts.get({ account_id })).id).toBe(account_id);
    const ids: unknown[] = [];
    for await (const account of client().accounts.list()) ids.push(account.id);
    expect(ids).toEqual([account_id]);
  });
});
