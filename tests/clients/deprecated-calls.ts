import Cloudflare from "cloudflare";
import Cloudflare3 from "cloudflare-3";
import Cloudflare4 from "cloudflare-4";
import Cloudflare5 from "cloudflare-5";
import { deprecationTable } from "../../core/deprecations/mod.ts";
import type { DeprecationEntry } from "../../core/deprecations/table/entry.ts";

/** What a client does with a request. */
export type Send = (request: Request) => Promise<Response>;

/** The versions of the official client, as they come from npm. */
export const versions: Readonly<Record<string, unknown>> = {
  "3.0.0": Cloudflare3,
  "4.5.0": Cloudflare4,
  "5.2.0": Cloudflare5,
  "7.3.0": Cloudflare,
};

/** The calls of the endpoints of a row, whatever version has them. */
const calls: Readonly<Record<string, readonly string[]>> = {
  devices: ["list", "get", "overrideCodes.list", "revoke.create", "unrevoke.create"].map(
    (name) => `zeroTrust.devices.${name}`,
  ),
  "access-bookmarks": ["list", "get", "create", "update", "delete"].map(
    (name) => `zeroTrust.access.bookmarks.${name}`,
  ),
  "radar-verified-bots": ["bots", "categories"].map((name) => `radar.verifiedBots.top.${name}`),
  "radar-attacks-top": ["layer3", "layer7"].flatMap((layer) =>
    ["industry", "vertical"].map((name) => `radar.attacks.${layer}.top.${name}`),
  ),
  "firewall-rules": ["firewall.rules", "filters"].flatMap((resource) =>
    [
      "list",
      "create",
      "bulkEdit",
      "bulkUpdate",
      "bulkDelete",
      "get",
      "edit",
      "update",
      "delete",
    ].map((name) => `${resource}.${name}`),
  ),
  "waf-previous-version": [
    ...["list", "get"].map((name) => `firewall.waf.packages.${name}`),
    ...["groups", "rules"].flatMap((resource) =>
      ["list", "get", "edit"].map((name) => `firewall.waf.packages.${resource}.${name}`),
    ),
    ...["list", "create", "get", "update", "delete"].map(
      (name) => `firewall.waf.overrides.${name}`,
    ),
  ],
  "rate-limits": ["list", "create", "get", "edit", "delete"].map((name) => `rateLimits.${name}`),
  "cname-flattening": ["zones.settings.get", "zones.settings.edit"],
  "custom-ns-availability": ["customNameservers.availabilty"],
  "setting-brotli": settingCalls("brotli"),
  "setting-minify": settingCalls("minify"),
  "setting-mobile-redirect": settingCalls("mobileRedirect"),
  "setting-server-side-exclude": settingCalls("serverSideExcludes"),
  "setting-privacy-pass": ["zones.settings.get"],
  tunnels: ["list", "create", "get", "delete"].map((name) => `zeroTrust.tunnels.${name}`),
  billing: [
    "billing.profiles.get",
    "user.billing.profile.get",
    "user.billing.history.get",
    "user.billing.history.list",
  ],
};

function settingCalls(name: string): string[] {
  return ["get", "edit"].flatMap((verb) => [
    `zones.settings.${name}.${verb}`,
    `zones.settings.${verb}`,
  ]);
}

/** A call of a version that reaches an endpoint that has ended. */
export interface DeprecatedCall {
  readonly entry: DeprecationEntry;
  readonly name: string;
  /** Makes the call; resolves to what the client gives, or to its error. */
  readonly make: (send: Send) => Promise<unknown>;
}

/** Every call of a version that asks for an endpoint of the table. */
export async function deprecatedCalls(version: string): Promise<DeprecatedCall[]> {
  const call = callerOf(version);
  const found: DeprecatedCall[] = [];
  for (const entry of deprecationTable.filter(({ kind }) => kind === "endpoint")) {
    for (const name of calls[entry.row] ?? []) {
      const args = await fittingArguments(call, name, entry);
      if (args === null) continue;
      found.push({ entry, name, make: (send) => call(name, args, send) });
      break;
    }
  }
  return found;
}

/** Makes a call of a client by its name; null if this version has none. */
export type Call = (name: string, args: readonly unknown[], send: Send) => Promise<unknown>;

/** Versions take the ids of a path by place or by name: the arguments that lead to the endpoint. */
async function fittingArguments(
  call: Call,
  name: string,
  { path, methods }: DeprecationEntry,
): Promise<readonly unknown[] | null> {
  const last = path?.split("/").at(-1) ?? "";
  const ids = { account_id: "a", zone_id: "z", value: "on", body: ["i"], account_identifier: "a" };
  const places = [
    [],
    ["z"],
    ["i"],
    ["z", "i"],
    ["i", "z"],
    ["p", "i"],
    ["z", "p", "i"],
    [last],
    ["a"],
  ];
  const pattern = new RegExp(`^/client/v4${path?.replaceAll(/\{\w+\}/g, "[a-z]")}$`);
  for (const place of places) {
    const args = [...place, ids];
    let asked = "";
    await call(name, args, (request) => {
      asked ||= `${request.method} ${new URL(request.url).pathname}`;
      return Promise.resolve(Response.json({ result: [], result_info: {} }));
    });
    const [method = "", at = ""] = asked.split(" ");
    if (methods.includes(method) && pattern.test(at)) return args;
  }
  return null;
}

/** Calls of one client of a version, because making a client costs more than a call. */
export function callerOf(version: string): Call {
  // `as`: four versions of one client, whose types differ.
  const Client = versions[version] as new (options: object) => Record<string, unknown>;
  let sending: Send = () => Promise.reject(new Error("Nobody calls"));
  const fetch = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> =>
    sending(new Request(input, { ...init, method: (init.method ?? "GET").toUpperCase() }));
  const baseURL = "http://localhost/client/v4";
  const client = new Client({ apiToken: "token", baseURL, fetch, maxRetries: 0 });
  return async (name, args, send) => {
    let owner: unknown = null;
    let at: unknown = client;
    for (const part of name.split(".")) [owner, at] = [at, Object(at)[part]];
    if (typeof at !== "function") return null;
    sending = send;
    try {
      return await (at.apply(owner, [...args]) as Promise<unknown>);
    } catch (error) {
      return error;
    }
  };
}
