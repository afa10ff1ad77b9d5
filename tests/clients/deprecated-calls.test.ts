import { beforeAll, describe, expect, inject, it } from "vitest";
import { compatProxy } from "../../core/deprecations/mod.ts";
import { modernApi } from "../fakes/deprecations-modern.ts";
import { type DeprecatedCall, deprecatedCalls, versions } from "./deprecated-calls.ts";

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
