import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { notesNearAccount } from "../../../core/auth/near-account.ts";
import { envelope } from "../../../core/http/envelope.ts";

const app = new Hono();
app.use("/*", notesNearAccount("local"));
app.get("/accounts/:account_id/empty", () => envelope([], { resultInfo: { count: 0 } }));
app.get("/accounts/:account_id/full", () => envelope([{ name: "[]" }]));
app.get("/accounts/:account_id/one", () => envelope({ list: [] }));
app.post("/accounts/:account_id/empty", () => envelope([]));

async function messages(path: string, method = "GET"): Promise<string[]> {
  const response = await app.request(path, { method });
  const body = (await response.json()) as { result: unknown; messages: { message: string }[] };
  expect(response.status).toBe(200);
  expect(body.result).toBeDefined();
  return body.messages.map(({ message }) => message);
}

describe("an account that is nearly the server's own", () => {
  it.each(["locl", "Local", "lcoal"])("is named in an empty list of %s", async (account) => {
    expect(await messages(`/accounts/${account}/empty`)).toEqual([
      `The account "${account}" has nothing here: did you mean "local"?`,
    ]);
  });

  it.each(["local", "acme", "x"])("is not named in an empty list of %s", async (account) => {
    expect(await messages(`/accounts/${account}/empty`)).toEqual([]);
  });

  it("is not named to a token of another account alone", async () => {
    const ofTokens = new Hono<{ Variables: { principal: unknown } }>();
    ofTokens.use("/*", notesNearAccount("team1"));
    ofTokens.get("/accounts/:account_id/empty/:own", (c) => {
      c.set("principal", {
        id: "t",
        grants: [{ permissions: ["*"], accounts: [c.req.param("own")] }],
      });
      return envelope([]);
    });
    const told = async (own: string): Promise<boolean> =>
      (await (await ofTokens.request(`/accounts/team2/empty/${own}`)).text()).includes("team1");
    expect([await told("team2"), await told("team1"), await told("*")]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("is not named where there is something, nor after a change", async () => {
    expect(await messages("/accounts/locl/full")).toEqual([]);
    expect(await messages("/accounts/locl/one")).toEqual([]);
    expect(await messages("/accounts/locl/empty", "POST")).toEqual([]);
  });
});
