import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { exposureWarning } from "../../adapters/cli/serve/banner.ts";
import { parseToken, tokenHelp } from "../../adapters/cli/token/token.ts";
import { tokenTable } from "../../adapters/cli/token/token-output.ts";
import { permissions } from "../../core/auth/permissions.ts";
import { eventually } from "../cases/eventually.ts";
import { host } from "../config/shared.ts";
import { causey, seed, serve } from "./command/run-command.ts";
import { missing, runtimes } from "./runtimes.ts";

const NOW = Date.UTC(2026, 10, 22);
const parse = (...args: string[]) => parseToken(args, NOW);
const run = ["create", "--permission", "AI Gateway Run"] as const;

describe("the arguments of causey token", () => {
  it("take permissions by name in any case, gateways and an expiry", () => {
    expect(
      parse("create", "--permission", "ai gateway run", "--gateway", "a", "--gateway=b"),
    ).toMatchObject({
      permissions: ["AI Gateway Run"],
      gateways: ["a", "b"],
      name: "AI Gateway Run",
      expiresOn: undefined,
    });
    for (const [when, at] of [
      ["30d", "2026-12-22T00:00:00Z"],
      ["8w", "2027-01-17T00:00:00Z"],
      ["12h", "2026-11-22T12:00:00Z"],
      ["90m", "2026-11-22T01:30:00Z"],
      ["2030-01-01", "2030-01-01T00:00:00Z"],
    ] as const)
      expect(parse(...run, "--expires", when)).toMatchObject({ expiresOn: at });
  });

  it("are refused in one line that says what would be right", () => {
    const secret = `causey_${"a".repeat(46)}`;
    for (const [args, message] of [
      [["create"], 'token create needs --permission, e.g. --permission "AI Gateway Run"'],
      [["create", "--permission", "AI Gatway Run"], 'did you mean "AI Gateway Run"?'],
      [["create", "--permission", "everything at all"], "use one of AI Gateway Read"],
      [["create", "--permission", "AI", "Gateway", "Run"], "needs quotation marks"],
      [["create", "--permision", "x"], 'Unknown option "--permision": did you mean "permission"?'],
      [["creat"], 'Unknown command "token creat": did you mean "create"?'],
      [["list", "--gateway", "a"], "token list has no option --gateway"],
      [
        [...run, "--permission", "Agents Read", "--gateway", "a"],
        '"Agents Read" is not one of them',
      ],
      [[...run, "--gateway", "a/b"], '"a/b" cannot be the id of a gateway'],
      [[...run, "--expires", "soon"], "--expires: expected a time such as 12h, 30d or 8w"],
      [[...run, "--expires", "2026-01-01"], '"2026-01-01" is in the past'],
      [[...run, "--expires", "0d"], '"0d" is in the past'],
      [["list", "--url", "ftp://a"], "--url must be an http or https address"],
      [["list", "--url", "http://a", "--data-dir", "b"], "leave out --data-dir and --config"],
      [["revoke"], "token revoke needs the one id of a token"],
      [["revoke", "../../accounts"], 'got "../../accounts"'],
    ] as const)
      expect(() => parse(...args)).toThrow(message);
    expect(() => parse("revoke", secret)).toThrow(/^(?!.*causey_a)/u);
  });

  it("are all in the help, and every permission too", () => {
    for (const name of permissions) expect(tokenHelp.replaceAll(/\s+/gu, " ")).toContain(name);
  });
});

describe("the table of tokens", () => {
  it("shows no control characters of a name", () => {
    const token = { id: "1", name: "a\u001B[2Jb\u202E", status: "active", policies: [] };
    expect(tokenTable([token])).toContain("a�[2Jb�");
  });
});

describe("the warning about plain HTTP", () => {
  it("is for addresses that other machines reach", () => {
    for (const own of ["127.0.0.1", "127.8.0.1", "localhost", "::1", "[::1]"])
      expect(exposureWarning(own)).toBeNull();
    for (const open of ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "api.example"])
      expect(exposureWarning(open)).toMatch(/^Other machines .*plain HTTP/u);
  });
});

async function ask(url: string, gateway: string, token: string): Promise<number> {
  const response = await fetch(`${url}/v1/local/${gateway}/echo/chat/completions`, {
    method: "POST",
    headers: { "gw-aig-authorization": `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.body?.cancel();
  return response.status;
}

const fresh = (): string => join(inject("scratch"), `token-command-${crypto.randomUUID()}`);

describe(`causey token on ${host}`, () => {
  it("makes, lists and revokes tokens beside a running server, and without one", async () => {
    const folder = fresh();
    const inFolder = ["--data-dir", folder];
    const early = await causey(["token", "list", ...inFolder]);
    expect(early).toMatchObject({ code: 1, out: "" });
    expect(early.err).toMatch(
      /^error: There are no tokens in ".*", where no server has run\nhint: .*\n$/u,
    );
    expect(existsSync(folder)).toBe(false);

    await seed(folder);
    const server = await serve(folder);
    const made = await causey(["token", ...run, "--gateway", "default", ...inFolder]);
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/^causey_[0-9A-Za-z]{46}\n$/u);
    expect(made.err).toMatch(/^Shown this once\. Id [0-9a-f]{32}, never expires\n$/u);
    const token = made.out.trim();
    expect(await ask(server.url, "default", token)).toBe(200);
    expect(await ask(server.url, "other", token)).toBe(401);

    const listed = await causey(["token", "list", "--json", ...inFolder]);
    expect(listed.out).not.toContain(token);
    const { id } = JSON.parse(listed.out) as { id: string };
    const table = await causey(["token", "list", ...inFolder]);
    expect(table.out).toMatch(new RegExp(`^${id} .* AI Gateway Run on default$`, "mu"));
    await server.stop();

    const revoked = await causey(["token", "revoke", id, ...inFolder]);
    expect(revoked).toMatchObject({ code: 0, out: `Revoked ${id}\n` });
    expect((await causey(["token", "revoke", id, ...inFolder])).err).toMatch(
      /^error: No API token "/u,
    );
    const made2 = await causey(["token", ...run, "--expires", "30d", "--json", ...inFolder]);
    const second = JSON.parse(made2.out) as { value: string; expires_on: string };
    expect(Date.parse(second.expires_on)).toBeGreaterThan(Date.now() + 29 * 86_400_000);

    const again = await serve(folder);
    expect(await ask(again.url, "default", token)).toBe(401);
    expect(await ask(again.url, "default", second.value)).toBe(200);
    await again.stop();
  });

  it("asks a server of any runtime by its address", async () => {
    const folder = fresh();
    const CAUSEY_TOKEN = "token-command-with-every-permission";
    await seed(folder);
    const server = await serve(folder, [], { CAUSEY_TOKEN });
    onTestFinished(() => server.stop());
    const { url } = server;
    const there = ["--url", url];

    const made = await causey(["token", ...run, ...there], { CAUSEY_TOKEN });
    const token = made.out.trim();
    expect(await ask(url, "default", token)).toBe(200);
    const weak = await causey(["token", "list", ...there], { CAUSEY_TOKEN: token });
    expect(weak).toMatchObject({ code: 1, out: "" });
    expect(weak.err).toMatch(/^error: The server answered 403: .*"API Tokens Read"/u);
    expect((await causey(["token", "list", ...there], { CAUSEY_TOKEN: "" })).err).toMatch(
      /CAUSEY_TOKEN\n$/u,
    );
    const listed = await causey(["token", "list", "--json", ...there], { CAUSEY_TOKEN });
    const { id } = JSON.parse(listed.out) as { id: string };
    expect((await causey(["token", "revoke", id, ...there], { CAUSEY_TOKEN })).code).toBe(0);
    expect(await ask(url, "default", token)).toBe(401);

    const other = runtimes.find((one) => one !== host && missing(one) === false);
    if (other === undefined) return;
    const foreign = await causey(["token", "list", "--data-dir", folder], {}, other);
    expect(foreign).toMatchObject({ code: 1, out: "" });
    expect(foreign.err).toMatch(/of another runtime or version .*ask the server with --url\n$/u);
  });

  it("warns once of an address that other machines reach", async () => {
    const server = await serve(fresh(), ["--no-demo", "--host", "0.0.0.0"]);
    await eventually(() => server.err().includes("plain HTTP"), "the warning");
    expect(server.err().match(/plain HTTP/gu)).toHaveLength(1);
    await server.stop();
  });
});
