import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import type { CryptoKey as JoseKey, JSONWebKeySet } from "jose";
import { describe, expect, it } from "vitest";
import { jwtAuth, type JwtOptions } from "../../../core/auth/mod.ts";
import { allows, type Principal } from "../../../core/auth/principal.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type { Transport } from "../../../core/ports.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

const NOW = Date.UTC(2026, 0, 1);
const seconds = NOW / 1000;
const base = { issuer: "https://idp.example", audience: "causey", algorithms: ["ES256"] } as const;

const pair = await generateKeyPair("ES256", { extractable: true });
const other = await generateKeyPair("ES256", { extractable: true });
const jwks = async (kid = "k1", key: JoseKey = pair.publicKey): Promise<JSONWebKeySet> => ({
  keys: [{ ...(await exportJWK(key)), kid, alg: "ES256", use: "sig" }],
});

const claims = {
  iss: base.issuer,
  aud: base.audience,
  sub: "user-1",
  exp: seconds + 60,
  permissions: ["AI Search Run", "not a permission"],
};

const sign = (
  payload: Record<string, unknown> = claims,
  key: JoseKey = pair.privateKey,
  kid = "k1",
) => new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid }).sign(key);

const request = (token: string): Request =>
  new Request("http://x/", { headers: { authorization: `Bearer ${token}` } });

async function verify(token: string, options: Partial<JwtOptions> = {}): Promise<Principal | null> {
  const authenticate = jwtAuth(
    { ...base, jwks: await jwks(), ...options },
    fakePlatform({ now: NOW }),
  );
  return await authenticate(request(token));
}

describe("jwtAuth()", () => {
  it("maps the claim to permissions and leaves out what is none", async () => {
    expect(await verify(await sign())).toEqual({
      id: "user-1",
      kind: "jwt",
      grants: [{ permissions: ["AI Search Run"], accounts: ["*"] }],
    });
  });

  it("takes accounts from a claim, none when it is missing", async () => {
    const accountsClaim = "acc";
    const withAccounts = await verify(await sign({ ...claims, acc: ["a", "b"] }), {
      accountsClaim,
    });
    expect(allows(withAccounts!, "AI Search Run", "b")).toBe(true);
    expect(allows(withAccounts!, "AI Search Run", "c")).toBe(false);
    const without = await verify(await sign(), { accountsClaim });
    expect(allows(without!, "AI Search Run", "a")).toBe(false);
  });

  it("maps roles, also as words of one text", async () => {
    const options = { claim: "scope", map: { admin: ["*"], reader: ["AI Search Read"] } };
    const who = await verify(await sign({ ...claims, scope: "openid reader" }), options);
    expect(who?.grants[0]?.permissions).toEqual(["AI Search Read"]);
  });

  it("does not take a star from the token itself", async () => {
    const who = await verify(await sign({ ...claims, permissions: ["*"] }));
    expect(who?.grants[0]?.permissions).toEqual([]);
  });

  const refused: [string, Record<string, unknown>][] = [
    ["another issuer", { iss: "https://evil.example" }],
    ["another audience", { aud: "else" }],
    ["no expiry", { exp: undefined }],
    ["an expiry beyond the tolerance", { exp: seconds - 31 }],
    ["a start beyond the tolerance", { nbf: seconds + 31 }],
  ];
  it.each(refused)("refuses %s", async (_, change) => {
    expect(await verify(await sign({ ...claims, ...change }))).toBeNull();
  });

  it("tolerates 30 seconds of clock difference", async () => {
    expect(await verify(await sign({ ...claims, exp: seconds - 29 }))).not.toBeNull();
  });

  it("refuses other keys, none, HMAC with the public key, and broken tokens", async () => {
    expect(await verify(await sign(claims, other.privateKey))).toBeNull();
    expect(await verify(new UnsecuredJWT(claims).encode())).toBeNull();
    const secret = utf8(JSON.stringify(await exportJWK(pair.publicKey)));
    const confused = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: "k1" })
      .sign(secret);
    expect(await verify(confused)).toBeNull();
    const token = await sign();
    for (const bad of [
      "",
      "a.b.c",
      "..",
      `${token}x`,
      token.slice(0, -2),
      token.replace(".", ".."),
    ]) {
      expect(await verify(bad)).toBeNull();
    }
  });

  it("refuses symmetric algorithms, and options without exactly one source of keys", async () => {
    const platform = fakePlatform({ now: NOW });
    const set = await jwks();
    for (const algorithm of ["HS256", "none", "RSA1_5"]) {
      expect(() => jwtAuth({ ...base, algorithms: [algorithm], jwks: set }, platform)).toThrow(
        "Unsupported JWT",
      );
    }
    expect(() => jwtAuth({ ...base }, platform)).toThrow("either jwks or jwksUrl");
    expect(() => jwtAuth({ ...base, jwksUrl: "http://idp.example/jwks" }, platform)).toThrow(
      "use https",
    );
  });
});

describe("jwtAuth() with jwksUrl", () => {
  const jwksUrl = "https://idp.example/jwks";

  function issuer(first: JSONWebKeySet | null): {
    transport: Transport;
    reads: number;
    set: JSONWebKeySet | null;
  } {
    const state = {
      reads: 0,
      set: first,
      transport: {
        send: () => {
          state.reads++;
          if (state.set === null) return Promise.reject(new Error("down"));
          return Promise.resolve({
            status: 200,
            headers: [],
            body: utf8(JSON.stringify(state.set)),
          });
        },
      },
    };
    return state;
  }

  it("reads the keys once for many tokens, and again after ten minutes", async () => {
    const clock = { now: NOW };
    const idp = issuer(await jwks());
    const authenticate = jwtAuth({ ...base, jwksUrl }, fakePlatform(clock, idp.transport));
    const token = await sign({ ...claims, exp: seconds + 3600 });
    const both = await Promise.all([authenticate(request(token)), authenticate(request(token))]);
    expect(both.every((one) => one?.id === "user-1")).toBe(true);
    expect(idp.reads).toBe(1);
    clock.now += 10 * 60_000;
    await authenticate(request(token));
    expect(idp.reads).toBe(2);
  });

  it("reads early for an unknown key, but not more often than every 30 seconds", async () => {
    const clock = { now: NOW };
    const idp = issuer(await jwks());
    const authenticate = jwtAuth({ ...base, jwksUrl }, fakePlatform(clock, idp.transport));
    await authenticate(request(await sign()));
    idp.set = await jwks("k2", other.publicKey);
    const rotated = await sign(claims, other.privateKey, "k2");
    for (let i = 0; i < 5; i++) expect(await authenticate(request(rotated))).toBeNull();
    expect(idp.reads).toBe(1);
    clock.now += 30_000;
    expect(await authenticate(request(rotated))).not.toBeNull();
    expect(idp.reads).toBe(2);
  });

  it("answers 503 while the keys were never readable, and goes on with old ones later", async () => {
    const clock = { now: NOW };
    const idp = issuer(null);
    const authenticate = jwtAuth({ ...base, jwksUrl }, fakePlatform(clock, idp.transport));
    const token = await sign({ ...claims, exp: seconds + 7200 });
    await expect(authenticate(request(token))).rejects.toMatchObject({ status: 503 });
    clock.now += 30_000;
    idp.set = await jwks();
    expect(await authenticate(request(token))).not.toBeNull();
    idp.set = null;
    clock.now += 3_600_000;
    expect(await authenticate(request(token))).not.toBeNull();
  });

  it("refuses a key set that is too large or not one", async () => {
    for (const body of [utf8("{}"), utf8("nope"), new Uint8Array(300 * 1024)]) {
      const transport = { send: () => Promise.resolve({ status: 200, headers: [], body }) };
      const authenticate = jwtAuth({ ...base, jwksUrl }, fakePlatform({ now: NOW }, transport));
      await expect(authenticate(request(await sign()))).rejects.toMatchObject({ status: 503 });
    }
  });
});
