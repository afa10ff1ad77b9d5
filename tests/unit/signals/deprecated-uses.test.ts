import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { platformApi } from "../../../core/api.ts";
import { addUse, type DeprecatedUse } from "../../../core/signals/deprecated-uses.ts";

const use: DeprecatedUse = {
  id: "devices.01",
  token: "one",
  caller: "0a1b2c3d",
  method: "GET",
  count: 1,
  refused: 1,
  last: 5,
};

it("uses of a caller add up, and are told apart only so far", () => {
  const uses = new Map<string, DeprecatedUse>();
  addUse(uses, use);
  addUse(uses, { ...use, refused: 0, last: 4 });
  expect([...uses.values()]).toEqual([{ ...use, count: 2, refused: 1, last: 5 }]);
  for (let at = 0; at < 1500; at++) addUse(uses, { ...use, id: `entry.${at}`, last: 10 + at });
  expect(uses.size).toBe(1000);
});

it("a token with many uses pushes out no other's, and the oldest of all make room", () => {
  const uses = new Map<string, DeprecatedUse>();
  const add = (token: string, id: string, last: number): string | null =>
    addUse(uses, { ...use, token, id, last }).dropped;
  add("quiet", "devices.01", 1);
  for (let at = 0; at < 999; at++) add("loud", `entry.${at}`, 10 + at);
  expect(add("loud", "entry.999", 2000)).toBe("entry.0 GET loud ");
  expect(add("newcomer", "devices.01", 2001)).toBe("entry.1 GET loud ");
  expect([...uses.values()].map(({ token }) => token)).toContain("quiet");
  uses.clear();
  for (let at = 0; at < 1000; at++) add(`token-${at}`, "devices.01", at);
  expect(add("newcomer", "devices.01", 2000)).toBe("devices.01 GET token-0 ");
});

it("strangers are not counted, whatever credentials they make up", async () => {
  const platform = await openPlatform();
  const token = "a-token-of-the-operator";
  const tokens = [{ token, permissions: ["*" as const], accounts: ["*"] }];
  const api = platformApi({ platform, console: true, tokens });
  const ask = async (credential: string): Promise<void> => {
    const headers = { authorization: `Bearer ${credential}` };
    const path = "/client/v4/accounts/local/devices";
    expect((await api.request(path, { method: "HEAD", headers })).headers.has("deprecation")).toBe(
      true,
    );
  };
  for (let at = 0; at < 1100; at++) await ask(`made-up-credential-${at}`);
  await ask(token);
  const login = await api.request("/console/session", {
    method: "POST",
    headers: { "x-causey-console": "1", "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  const told = await api.request("/console/deprecated", {
    headers: { "x-causey-console": "1", cookie },
  });
  const uses = (await told.json()) as DeprecatedUse[];
  expect(uses).toMatchObject([{ id: "devices.01", method: "HEAD", count: 1 }]);
  await platform.close();
});

it("who uses what is deprecated is in the log and in the console", async () => {
  const real = await openPlatform();
  const lines: Readonly<Record<string, unknown>>[] = [];
  const platform = {
    ...real,
    log: (_level: string, message: string, fields = {}) => {
      if (message === "Request") lines.push(fields);
    },
  };
  const api = platformApi({ platform, auth: "off", console: true, accessLog: true });
  const headers = { authorization: "Bearer somebody" };
  await (await api.request("/client/v4/accounts/local/devices", { headers })).text();
  await (await api.request("/client/v4/accounts/local/devices", { headers })).text();
  await (await api.request("/client/v4/accounts/local/tokens", { headers })).text();
  const told = await api.request("/console/deprecated", { headers: { "x-causey-console": "1" } });
  const uses = (await told.json()) as DeprecatedUse[];
  expect(uses).toHaveLength(1);
  expect(uses[0]).toMatchObject({ id: "devices.01", method: "GET", count: 2, refused: 2 });
  expect(uses[0]?.caller).toMatch(/^[0-9a-f]{8}$/);
  expect(lines.map((line) => line["deprecation"])).toEqual(["devices.01", "devices.01", undefined]);
  await real.close();
});
