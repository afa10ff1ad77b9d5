import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { platformApi } from "../../../core/api.ts";
import { addUse, type DeprecatedUse } from "../../../core/signals/deprecated-uses.ts";

const use: DeprecatedUse = {
  id: "devices.01",
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
  for (let at = 0; at < 1500; at++) addUse(uses, { ...use, caller: String(at) });
  expect(uses.size).toBe(1000);
  // Those that are known still count.
  addUse(uses, use);
  expect(uses.get("devices.01 GET 0a1b2c3d")?.count).toBe(3);
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
