import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { webConsole } from "../../../core/console/mod.ts";
import {
  addUse,
  clientOf,
  type DeprecatedUse,
  deprecatedUseLog,
  usesOf as usesOfRow,
} from "../../../core/signals/deprecated-uses.ts";
import type { RequestRow } from "../../../core/signals/requests/request-row.ts";

const use: DeprecatedUse = {
  id: "devices.01",
  token: "one",
  name: "deploy",
  client: "Cloudflare/JS",
  version: "3.0.0",
  count: 1,
  refused: 1,
  first: 5,
  last: 5,
  days: { "2026-01-01": 1 },
};

it("uses of a caller add up, and are told apart only so far", () => {
  const uses = new Map<string, DeprecatedUse>();
  addUse(uses, use);
  addUse(uses, { ...use, refused: 0, first: 4, last: 4, name: "renamed" });
  expect([...uses.values()]).toEqual([
    { ...use, count: 2, refused: 1, first: 4, last: 5, name: "renamed", days: { "2026-01-01": 2 } },
  ]);
  for (let day = 2; day <= 28; day++)
    for (const month of ["01", "02"])
      addUse(uses, { ...use, days: { [`2026-${month}-${String(day).padStart(2, "0")}`]: 1 } });
  const { days = {} } = [...uses.values()][0] ?? {};
  expect([Object.keys(days).length, Object.keys(days).at(-1)]).toEqual([31, "2026-02-28"]);
  for (let at = 0; at < 1500; at++) addUse(uses, { ...use, id: `entry.${at}`, last: 10 + at });
  expect(uses.size).toBe(1000);
});

it("a token with many uses pushes out no other's, and the oldest of all make room", () => {
  const uses = new Map<string, DeprecatedUse>();
  const add = (token: string, id: string, last: number): string | null =>
    addUse(uses, { ...use, token, id, last }).dropped;
  add("quiet", "devices.01", 1);
  for (let at = 0; at < 999; at++) add("loud", `entry.${at}`, 10 + at);
  expect(add("loud", "entry.999", 2000)).toBe("entry.0 loud Cloudflare/JS/3.0.0 ");
  expect(add("newcomer", "devices.01", 2001)).toBe("entry.1 loud Cloudflare/JS/3.0.0 ");
  expect([...uses.values()].map(({ token }) => token)).toContain("quiet");
  uses.clear();
  for (let at = 0; at < 1000; at++) add(`token-${at}`, "devices.01", at);
  expect(add("newcomer", "devices.01", 2000)).toBe("devices.01 token-0 Cloudflare/JS/3.0.0 ");
});

it("strangers are not counted, whatever credentials they make up", async () => {
  const platform = await openPlatform();
  const token = "a-token-of-the-operator";
  const tokens = [{ token, permissions: ["*" as const], accounts: ["*"] }];
  const api = platformApi({ platform, console: webConsole, tokens });
  const ask = async (credential: string): Promise<void> => {
    const headers = { authorization: `Bearer ${credential}` };
    const path = "/client/v4/accounts/local/devices";
    expect((await api.request(path, { method: "HEAD", headers })).headers.has("deprecation")).toBe(
      true,
    );
  };
  for (let at = 0; at < 1100; at++) await ask(`made-up-credential-${at}`);
  await ask(token);
  const shown = { entry: "devices.01", count: 1, client: "", token_name: "" };
  // Whose token it is, is asked after the answer.
  await expect.poll(() => usesOf(api, token)).toMatchObject([shown]);
  await platform.close();
});

it("a token is counted only in accounts that it may use", async () => {
  const platform = await openPlatform();
  const tokens = ["acme", "other"].map((account) => ({
    token: `a-token-of-the-account-${account}`,
    permissions: ["*" as const],
    accounts: [account],
  }));
  const [own = "", stranger = ""] = tokens.map(({ token }) => token);
  const api = platformApi({ platform, console: webConsole, tokens });
  for (const token of [stranger, stranger, own]) {
    const headers = { authorization: `Bearer ${token}` };
    await api.request("/client/v4/accounts/acme/devices", { method: "HEAD", headers });
  }
  await expect.poll(() => usesOf(api, own, "acme")).toMatchObject([{ count: 1 }]);
  await platform.close();
});

const usesOf = async (api: PlatformApi, token = "", account = "local"): Promise<unknown> => {
  const headers = { authorization: `Bearer ${token}` };
  const path = `/client/v4/accounts/${account}/deprecations/uses`;
  const response = await api.request(path, { headers });
  const { result } = (await response.json()) as { result: unknown };
  return result ?? response.status;
};

it("names the token, its program and each entry, in the report, the metrics and the log", async () => {
  const real = await openPlatform();
  const lines: Readonly<Record<string, unknown>>[] = [];
  const platform = {
    ...real,
    log: (_level: string, message: string, fields = {}) => {
      if (message === "Request" || message.includes("deprecated")) lines.push(fields);
    },
  };
  const first = "a-token-of-the-operator-000";
  const reader = "a-token-for-the-other-account";
  const api = platformApi({
    platform,
    metrics: true,
    accessLog: true,
    tokens: [
      { token: first, permissions: ["*"], accounts: ["*"] },
      { token: reader, permissions: ["Account Read"], accounts: ["other"] },
    ],
  });
  const ask = async (path: string, agent: string, token = first): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, "user-agent": agent };
    await (await api.request(`/client/v4${path}`, { headers })).text();
  };
  const made = await api.request("/client/v4/accounts/local/tokens", {
    method: "POST",
    headers: { authorization: `Bearer ${first}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "nightly job", policies: await policies(api, first) }),
  });
  const { result } = (await made.json()) as { result: { id: string; value: string } };
  await ask("/accounts/local/devices", "Cloudflare/JS 3.0.0", result.value);
  await ask("/accounts/local/devices", "Cloudflare/JS 3.0.0", result.value);
  await ask("/accounts/other/devices", `curl/8.5.0 ${first}`);
  await ask("/accounts/local/tokens", "curl/8.5.0");

  await expect
    .poll(() => usesOf(api, first))
    .toEqual([
      {
        entry: "devices.01",
        token_id: result.id,
        token_name: "nightly job",
        client: "Cloudflare/JS",
        client_version: "3.0.0",
        count: 2,
        refused: 2,
        first_used_on: expect.stringMatching(/Z$/) as string,
        last_used_on: expect.stringMatching(/Z$/) as string,
        days: { [new Date(real.system.now()).toISOString().slice(0, 10)]: 2 },
      },
    ]);
  await expect.poll(() => usesOf(api, first, "other")).toMatchObject([{ client: "", count: 1 }]);
  expect(await usesOf(api, reader, "other")).toMatchObject([{ count: 1 }]);
  expect(await usesOf(api, reader)).toBe(403);
  const scraped = await api.request("/metrics", { headers: { authorization: `Bearer ${first}` } });
  expect(await scraped.text()).toContain('causey_deprecated_uses_total{entry="devices.01"} 3');
  const told = lines.filter((line) => "token" in line);
  expect(told).toMatchObject([
    { deprecation: "devices.01", token_name: "nightly job", client: "Cloudflare/JS" },
    { deprecation: "devices.01" },
  ]);
  expect(JSON.stringify(lines)).not.toContain(first);
  await real.close();
});

async function policies(api: PlatformApi, token: string): Promise<unknown> {
  const path = "/client/v4/accounts/local/tokens/permission_groups";
  const response = await api.request(path, { headers: { authorization: `Bearer ${token}` } });
  const { result } = (await response.json()) as { result: { id: string }[] };
  const resources = { "com.cloudflare.api.account.local": "*" };
  return [{ effect: "allow", permission_groups: [{ id: result[0]?.id }], resources }];
}

it("counts a request for each entry that it uses, and says so once a day", () => {
  const lines: unknown[] = [];
  const log = deprecatedUseLog((_level, _message, fields) => void lines.push(fields));
  const row = { time: 0, deprecation: "a.01 b.02", token: "one" } as RequestRow;
  expect(usesOfRow(row).map(({ id }) => id)).toEqual(["a.01", "b.02"]);
  for (const time of [0, 5, 86_400_000]) log({ ...row, time });
  log({ ...row, time: 86_400_000, token: "two" });
  expect(lines).toHaveLength(3);
});

it.each([
  ["Cloudflare/JS 3.0.0", "Cloudflare/JS", "3.0.0"],
  ["curl/8.5.0", "curl", "8.5.0"],
  ["cloudflare-go/v0.70.0", "cloudflare-go", "0.70.0"],
  ["Mozilla/5.0 (X11; Linux x86_64)", "Mozilla", "5.0"],
  ["node", "node", ""],
  ["", "", ""],
  ["<script>", "", ""],
])("reads the program of %j", (agent, name, version) => {
  const headers = { "user-agent": agent };
  expect(clientOf(new Request("http://a.example", { headers }))).toEqual({ name, version });
});
