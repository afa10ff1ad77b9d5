import { beforeAll, describe, expect, inject, it } from "vitest";
import { compatProxy, deprecationTable } from "../../core/deprecations/mod.ts";
import { modernApi } from "../fakes/deprecations-modern.ts";
import { recordsApi } from "../fakes/deprecations-records.ts";
import { callerOf, type DeprecatedCall, deprecatedCalls, versions } from "./deprecated-calls.ts";
import { bulkCalls, type FieldCall, fieldCalls } from "./deprecated-fields.ts";

/** The least calls of a version that reach the table's endpoints; npm's versions do not change. */
const CALLS: Readonly<Record<string, number>> = {
  "3.0.0": 60,
  "4.5.0": 60,
  "5.2.0": 60,
  "7.3.0": 60,
};

describe.each(Object.keys(versions))("the deprecated calls of cloudflare %s", (version) => {
  let calls: readonly DeprecatedCall[] = [];
  beforeAll(async () => {
    calls = await deprecatedCalls(version);
  });

  it("are answered with method and path of the replacement, or that there is none", async () => {
    expect(calls.length).toBeGreaterThanOrEqual(CALLS[version] ?? 0);
    for (const { entry, name, make } of calls) {
      const seen: number[] = [];
      const error = await make(async (request) => {
        const { pathname, search } = new URL(request.url);
        const headers = new Headers(request.headers);
        headers.set("authorization", `Bearer ${inject("token")}`);
        const body = request.body === null ? null : await request.text();
        const { method } = request;
        const answer = await fetch(`${inject("baseUrl")}${pathname}${search}`, {
          method,
          headers,
          body,
        });
        seen.push(answer.status);
        return answer;
      });
      expect(seen, `${name} ${entry.id}`).toEqual([410]);
      expect((error as Error).message, name).toMatch(/Use [A-Z]+ \/|; no replacement/);
    }
  });

  it("work before an API of today, where nothing is lost", async () => {
    const lossless = calls.filter(({ entry }) => entry.rewriting !== undefined);
    expect(lossless.length).toBeGreaterThanOrEqual(7);
    for (const { entry, name, make } of lossless) {
      const api = modernApi();
      const proxy = compatProxy({
        upstream: "http://api.test",
        clock: "2026-06-01",
        fetch: api.answer,
      });
      const result = await make(proxy);
      expect(result, `${name} ${entry.id}`).not.toBeInstanceOf(Error);
      expect(api.calls, name).toHaveLength(1);
      if (entry.row === "radar-attacks-top")
        expect(result).toMatchObject({ top_0: [{ name: "retail" }, { name: "media" }, {}, {}] });
      if (entry.row === "cname-flattening")
        expect(result).toMatchObject({ id: "cname_flattening" });
    }
  });
});

/** Old fields, as an answer would have them. */
const OLD = /"(?:locked|zone_name|self_hosted_domains|service|magnitude)"/u;

describe.each(Object.keys(versions))("the parameters and fields of cloudflare %s", (version) => {
  const call = callerOf(version);
  const all: readonly FieldCall[] =
    version === "3.0.0" ? [...fieldCalls, ...bulkCalls] : fieldCalls;

  it("that have ended work before an API of today, or say what to use", async () => {
    let made = 0;
    for (const { entries, name, args, finds, sends, fails } of all) {
      const api = recordsApi();
      const fetch = api.answer;
      const proxy = compatProxy({ upstream: "http://api.test", clock: "2026-06-01", fetch });
      const seen: string[] = [];
      const result = await call(name, args, async (request) => {
        const answer = await proxy(request);
        seen.push(await answer.clone().text());
        return answer;
      });
      // A version without the call gives null.
      if (seen.length === 0) continue;
      made++;
      const about = `${name} ${entries.join(" ")} ${JSON.stringify(args)}`;
      if (fails !== undefined) {
        expect((result as Error).message, about).toMatch(fails);
        continue;
      }
      expect(result, about).not.toBeInstanceOf(Error);
      expect(seen.join(""), about).not.toMatch(OLD);
      if (sends !== undefined) expect(api.bodies.at(-1), about).toMatchObject(sends);
      if (finds !== undefined) {
        expect(finds.length, about).toBeGreaterThan(0);
        const { result: found } = result as { result: readonly { readonly id: string }[] };
        expect(found.map(({ id }) => id).toSorted(), about).toEqual(finds);
      }
    }
    // 3.0.0 cannot make an account.
    expect(made).toBe(version === "3.0.0" ? all.length - 1 : all.length);
  });

  it("are answered with method and path by a server that lacks the routes", async () => {
    for (const { entries, name, args } of all) {
      const seen: number[] = [];
      const error = await call(name, args, async (request) => {
        const { pathname, search } = new URL(request.url);
        const headers = new Headers(request.headers);
        headers.set("authorization", `Bearer ${inject("token")}`);
        const body = request.body === null ? null : await request.text();
        const { method } = request;
        const url = `${inject("baseUrl")}${pathname}${search}`;
        const answer = await fetch(url, { method, headers, body });
        seen.push(answer.status);
        return answer;
      });
      // The server has accounts.
      if (seen.length === 0 || seen[0] === 200) continue;
      const { message } = error as Error;
      const about = `${name} ${entries.join(" ")}`;
      expect(message, about).toMatch(/(?:No route for|this path takes) [A-Z]+|permission/u);
      if (entries.some((id) => id.startsWith("dns-list-filters")))
        expect(message, about).toMatch(/of GET \/zones\/\{zone_id\}\/dns_records is no longer/u);
    }
  });

  it("are all that the client can send, but for notices and framing", () => {
    const tested = new Set([...fieldCalls, ...bulkCalls].flatMap(({ entries }) => entries));
    const finer = deprecationTable.filter(
      ({ kind, path }) => kind !== "endpoint" && path !== null && path !== "/*",
    );
    expect(finer.filter(({ id }) => !tested.has(id)).map(({ id }) => id)).toEqual([]);
  });
});
