import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { gateway } from "../../../../core/gateway/mod.ts";
import { nearPath, pathHint } from "../../../../core/text/path-hint.ts";

const known = ["/v1/models", "/v1/chat/completions", "/v1/messages/count_tokens"];

describe("nearPath()", () => {
  it.each([
    ["/v1/chat/completion", "/v1/chat/completions"],
    ["/v1/caht/completions", "/v1/chat/completions"],
    ["/v1/chat/completions/", "/v1/chat/completions"],
    ["/v1//chat/completions", "/v1/chat/completions"],
    ["/v1/v1/chat/completions", "/v1/chat/completions"],
    ["/v1/v1/models", "/v1/models"],
    ["/v1/acme/models", null],
    ["/v1/acme/default", null],
    ["/v1/chat/completions/more", null],
    ["/", null],
    [`/v1/${"chat/".repeat(20_000)}`, null],
  ])("of %.40s is %s", (path, meant) => {
    expect(nearPath(path, known)).toBe(meant);
  });
});

it("a path that lacks the beginning of a route is completed", () => {
  expect(pathHint("/chat/completions", known)).toBe(': did you mean "/v1/chat/completions"?');
  expect(pathHint("/completions", ["/v1/:account_id/completions"])).toBe("");
});

it("a last part that is one word of a route's is completed", () => {
  const routes = [
    "/:account_id/virtual-keys/:id",
    "/:account_id/virtual-keys",
    "/:account_id/logs",
  ];
  expect(pathHint("/local/keys", routes)).toBe(': did you mean "/local/virtual-keys"?');
  expect(pathHint("/local/stores", routes)).toBe("");
});

it("a misspelt chat path is a 404 that names the right one, below a host's prefix too", async () => {
  const platform = await openPlatform();
  const app = new Hono().route("/ai/:tenant", gateway({ platform, demo: true }));
  const ask = async (path: string, method = "POST"): Promise<readonly [number, string]> => {
    const response = await app.request(path, { method });
    const { errors } = (await response.json()) as { errors: readonly { message: string }[] };
    return [response.status, errors[0]?.message ?? ""];
  };
  expect(await ask("/ai/x/v1/chat/completion")).toEqual([
    404,
    'No route for POST /ai/x/v1/chat/completion: did you mean "/v1/chat/completions"?',
  ]);
  expect(await ask("/ai/x/v1/chat/completions", "GET")).toEqual([
    405,
    "Method not allowed: this path takes POST, not GET",
  ]);
  const [status, message] = await ask("/ai/x/v1/acme/default");
  expect([status, message]).toEqual([401, expect.stringContaining("no token was sent")]);
  const [, stranger] = await ask("/ai/x/v1/local/defualt/echo/chat/completions");
  expect(stranger).toContain("no token was sent");
  await platform.close();
});
