import { openPlatform } from "#platform";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { storedTokens } from "../../../../core/auth/mod.ts";
import { newToken } from "../../../../core/auth/token-format.ts";
import { credentialsIn } from "../../../../core/gateway/wire/own-tokens.ts";
import type { Platform } from "../../../../core/ports.ts";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

/** A token of the configuration, which has no form of its own. */
const CONFIGURED = "configured=token/with:odd,signs+";
const part = (value: object): string =>
  btoa(JSON.stringify(value)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");
const jwt = (iss: string, aud: string): string =>
  `${part({ alg: "RS256" })}.${part({ iss, aud })}.c2lnbmF0dXJl`;
const OUR_JWT = jwt("https://idp.test", "causey");
const STORED = newToken((length) => crypto.getRandomValues(new Uint8Array(length)));

const all = { permissions: ["*" as const], accounts: ["*"] };
/** The shortest that may be configured. */
const SHORT = "sixteen-chars-ok";
let platform: Platform;
let gate: GatewayUnderTest;
let host: GatewayUnderTest;

beforeAll(async () => {
  platform = await openPlatform();
  const auth = storedTokens(platform, {
    tokens: [
      { token: CONFIGURED, ...all },
      { token: SHORT, ...all },
    ],
    jwt: { issuer: "https://idp.test", audience: ["causey"], jwks: { keys: [] } },
  });
  const providers = { openai: { apiKey: "stored-key" } };
  gate = await gatewayUnderTest({ auth, providers });
  host = await gatewayUnderTest({ providers });
});
afterAll(() => Promise.all([gate.close(), host.close(), platform.close()]));
beforeEach(() => {
  for (const { transport } of [gate, host]) {
    transport.requests.length = 0;
    transport.behave = () => jsonReply({ ok: true });
  }
});

const tokens: readonly (readonly [string, string])[] = [
  ["a configured token", CONFIGURED],
  ["a short configured token", SHORT],
  ["an API token", STORED],
  ["a gateway's own token", GATEWAY_TOKEN],
  ["a JWT of the configured issuer", OUR_JWT],
];

describe.each(tokens)("%s, with authentication off,", (_, token) => {
  it.each([
    ["authorization", `Bearer ${token}`],
    ["authorization", `bearer  ${token} `],
    ["authorization", token],
    ["authorization", `Token ${token}`],
    ["authorization", `Basic ${btoa(`user:${token}`)}`],
    ["authorization", `Basic ${btoa(`${token}:`)}`],
    ["x-api-key", token],
    ["x-anything", token],
    ["cookie", `a=b; session=${token}`],
    ["cookie", `a=b; session=${encodeURIComponent(token)}; c=100%25`],
    ["referer", `https://host.test/?token=${encodeURIComponent(token)}&more=1`],
    ["cf-aig-authorization", `Bearer ${token}`],
  ])("does not travel to a provider in %s", async (name, value) => {
    await gate.send("open/openai/x", jsonInit(chat, { [name]: value }));
    const [request] = gate.transport.requests;
    expect(JSON.stringify(request?.headers)).not.toContain(token);
    expect(JSON.stringify(request?.headers)).not.toContain(encodeURIComponent(token));
    expect(sentHeaders(request)["authorization"]).toBe("Bearer stored-key");
  });

  it.each(["key", "api_key", "anything"])("does not travel in the query as %s", async (name) => {
    for (const value of [token, encodeURIComponent(token), [...token].map(escaped).join("")]) {
      await gate.send(`open/openai/x?a=1&${name}=${value}`, jsonInit(chat));
      expect(gate.transport.requests.pop()?.url).toBe("https://api.openai.com/v1/x?a=1");
    }
  });

  it("does not travel in a step of a universal request", async () => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const step = { provider: "openai", endpoint: `x?key=${token}`, headers, query: chat };
    await gate.send("open", jsonInit([step]));
    expect(JSON.stringify(gate.transport.requests[0])).not.toContain(token);
  });
});

function escaped(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

it("leaves no token of ours in a log row", async () => {
  const fresh = await gatewayUnderTest();
  await fresh.send(`open/openai/x?anything=${API_TOKEN}&a=1`, jsonInit(chat));
  await fresh.send(`open/openai/x?a=1&anything=${GATEWAY_TOKEN}`, jsonInit(chat));
  const rows = await fresh.logs("open", 2);
  expect(rows.map(({ path }) => path)).toEqual(["x?a=1", "x?a=1"]);
  await fresh.close();
});

describe("what is not ours", () => {
  it.each([
    ["a JWT of the same issuer for another audience", jwt("https://idp.test", "provider")],
    ["a JWT of another issuer", jwt("https://other.test", "causey")],
    ["a key that begins like a configured token", `${CONFIGURED}x`],
    ["a key in an API token's form but its checksum", `${STORED.slice(0, -1)}!`],
  ])("travels as it came: %s", async (_, key) => {
    await gate.send("open/openai/x", jsonInit(chat, { authorization: `Bearer ${key}` }));
    expect(sentHeaders(gate.transport.requests[0])["authorization"]).toBe(`Bearer ${key}`);
  });
});

describe("a token of the host's own authentication", () => {
  it("does not travel to a provider where credentials are", async () => {
    const headers = { authorization: `Bearer ${API_TOKEN}` };
    await host.send(`open/openai/x?api_key=${API_TOKEN}&a=1`, jsonInit(chat, headers));
    expect(sentHeaders(host.transport.requests[0])["authorization"]).toBe("Bearer stored-key");
    expect(host.transport.requests[0]?.url).toBe("https://api.openai.com/v1/x?a=1");
  });

  it("is told from a provider's key, which travels", async () => {
    await host.send("open/openai/x", jsonInit(chat, { authorization: "Bearer sk-mine" }));
    expect(sentHeaders(host.transport.requests[0])["authorization"]).toBe("Bearer sk-mine");
  });
});

describe("credentialsIn()", () => {
  it("finds what a scheme, a list or Basic credentials hold", () => {
    expect(credentialsIn("plain")).toEqual(["plain"]);
    expect(credentialsIn("Bearer abc")).toContain("abc");
    expect(credentialsIn('Key key="abc", id=2')).toContain("abc");
    expect(credentialsIn(`Basic ${btoa("a:b:c")}`)).toEqual(expect.arrayContaining(["a", "b:c"]));
  });
});
