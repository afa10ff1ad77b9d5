import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, inject, it } from "vitest";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");
const api = `${base}/client/v4`;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly result: Record<string, string> & readonly Record<string, string>[];
    readonly success: boolean;
    readonly errors: readonly { readonly code: number; readonly message: string }[];
  };
}

async function call(
  method: string,
  path: string,
  bearer: string | null = token,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: bearer === null ? {} : { authorization: `Bearer ${bearer}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer["body"],
  };
}

async function groupId(name: string): Promise<string> {
  const { body } = await call(
    "GET",
    `/user/tokens/permission_groups?name=${encodeURIComponent(name)}`,
  );
  return body.result[0]!["id"]!;
}

async function makeToken(permission: string): Promise<Record<string, string>> {
  const { body } = await call("POST", `/accounts/${account}/tokens`, token, {
    name: `test ${permission}`,
    policies: [
      {
        effect: "allow",
        permission_groups: [{ id: await groupId(permission) }],
        resources: { [`com.cloudflare.api.account.${account}`]: "*" },
      },
    ],
  });
  return body.result;
}

describe("authentication", () => {
  it("answers 401 with code 10000 and a challenge without a token and with a bad one", async () => {
    for (const bad of [
      null,
      "nope",
      `${token}x`,
      "causey_0000000000000000000000000000000000000000000000",
    ]) {
      const { status, headers, body } = await call("GET", "/user/tokens/verify", bad);
      expect([status, body.success, body.errors[0]?.code]).toEqual([401, false, 10000]);
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("answers 403 when the token lacks the permission, and 200 when it has it", async () => {
    const reader = await makeToken("API Tokens Read");
    const list = `/accounts/${account}/tokens`;
    expect((await call("GET", list, reader["value"])).status).toBe(200);
    const refused = await call("POST", list, reader["value"], {});
    expect([refused.status, refused.body.errors[0]?.code]).toEqual([403, 10403]);
    expect((await call("GET", "/accounts/another/tokens", reader["value"])).status).toBe(403);
    const misspelt = await call("GET", `/accounts/${account}x/tokens`, reader["value"]);
    expect(misspelt.body.errors[0]?.message).toContain(`did you mean "${account}"?`);
  });

  it("refuses two Authorization headers, an overlong one and malformed ones with 401", async () => {
    const headers = [
      [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
      [`Authorization: Bearer ${token}`, "Authorization: Basic eDp5"],
      [`Authorization: Bearer ${"a".repeat(9000)}`],
      ["Authorization: Bearer"],
      ["Authorization:"],
      [`Authorization: ${token}`],
      [`Authorization: Bearer ${token} ${token}`],
    ];
    for (const lines of headers) {
      const { port, host } = new URL(base);
      const socket = connect(Number(port), "127.0.0.1");
      await once(socket, "connect");
      const head = [
        "GET /client/v4/user/tokens/verify HTTP/1.1",
        `Host: ${host}`,
        ...lines,
        "Connection: close",
      ];
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      expect(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1]).toMatch(/^4(00|01|31)$/);
    }
  });

  it("takes the scheme in any case", async () => {
    const request = httpRequest(`${api}/user/tokens/verify`, {
      headers: { authorization: `bEARER ${token}` },
    });
    request.end();
    const [response] = (await once(request, "response")) as [
      { statusCode: number; resume(): void },
    ];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  it("stops a token at once when it is deleted", async () => {
    const { id, value } = await makeToken("AI Search Run");
    expect((await call("GET", "/user/tokens/verify", value)).body.result["id"]).toBe(id);
    expect((await call("DELETE", `/accounts/${account}/tokens/${id}`)).status).toBe(200);
    expect((await call("GET", "/user/tokens/verify", value)).status).toBe(401);
  });

  it("never shows a secret or a hash after the first time", async () => {
    const { id, value } = await makeToken("AI Search Run");
    const list = await call("GET", `/accounts/${account}/tokens?per_page=100`);
    const text_ = JSON.stringify(list.body);
    expect(text_).toContain(id);
    expect(text_).not.toContain(value);
    expect(text_).not.toContain("hash");
  });

  it("answers unknown token routes with 404 and wrong methods with 405, in the envelope", async () => {
    const missing = await call("GET", "/user/tokens/0123456789abcdef/more");
    expect([missing.status, missing.body.success]).toEqual([404, false]);
    const wrong = await call("PATCH", `/user/tokens`);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  });
});
