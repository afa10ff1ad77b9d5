import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { kebab } from "../../../core/entity/kebab.ts";
import { checkName, decodeName, guardedName, nameFromId } from "../../../core/entity/name.ts";
import { rawSegments } from "../../../core/entity/segments.ts";
import { ApiError } from "../../../core/http/api-error.ts";

describe("kebab() does what the public client does", () => {
  const cases: readonly [string, string][] = [
    ["AIAssistant", "a-i-assistant"],
    ["GitHubAgent", "git-hub-agent"],
    ["LOUD_AGENT", "loud-agent"],
    ["my_agent_", "my-agent"],
    ["LOUD_AGENT_", "loud-agent-"],
    ["webhook-agent", "webhook-agent"],
    ["MyAgent", "my-agent"],
  ];
  for (const [name, path] of cases) {
    it(`${name} becomes ${path}`, () => {
      expect(kebab(name)).toBe(path);
    });
  }
});

it("checkName() refuses what has no UTF-8 form", () => {
  // Names of payloads and of server code are no URLs, so they may hold half a character.
  for (const bad of ["\ud800", "a\udc00b", "\0"]) expect(() => checkName(bad)).toThrow(ApiError);
  expect(checkName("😀")).toBe("😀");
});

describe("decodeName()", () => {
  it("decodes exactly once", () => {
    expect(decodeName("m%C3%BCnchen")).toBe("münchen");
    expect(decodeName("a%252Fb")).toBe("a%2Fb");
    expect(decodeName("a%2Fb")).toBe("a/b");
  });

  it("keeps case and Unicode form, so two names never become one", () => {
    expect(decodeName("A")).not.toBe(decodeName("a"));
    expect(decodeName("%C3%A9")).not.toBe(decodeName("e%CC%81"));
  });

  it("refuses nothing, too much, and what is no UTF-8", () => {
    for (const bad of ["", "%", "%E0%A4", "%00", "x".repeat(1025), "%C3%BC".repeat(513)]) {
      expect(() => decodeName(bad)).toThrow(ApiError);
    }
    expect(decodeName("x".repeat(1024))).toHaveLength(1024);
  });

  it.each([".", "..", "%2e", "%2E%2e", ".%2e"])(
    "refuses %s, which makes a URL another one",
    (bad) => {
      expect(() => decodeName(bad)).toThrow(ApiError);
      expect(() => nameFromId("..")).toThrow(ApiError);
    },
  );

  it("undoes encodeURIComponent for any well-formed name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }), (name) => {
        fc.pre(!name.includes("\0") && name.isWellFormed() && !/^\.\.?$/.test(name));
        expect(decodeName(encodeURIComponent(name))).toBe(name);
      }),
    );
  });
});

describe("names of identifiers", () => {
  it("are kebab-like and collide only without their guard", async () => {
    expect(nameFromId("Octo/Hello-World")).toBe("octo-hello-world");
    expect(nameFromId("foo-bar/baz")).toBe(nameFromId("foo/bar-baz"));
    expect(await guardedName("foo-bar/baz")).not.toBe(await guardedName("foo/bar-baz"));
    expect(await guardedName("a/b")).toMatch(/^a-b-[0-9a-f]{8}$/);
  });
});

describe("rawSegments()", () => {
  it("leaves encodings and the query alone", () => {
    expect(rawSegments("http://h/a/%2F%41?x=/y#/z")).toEqual(["", "a", "%2F%41"]);
    expect(rawSegments("http://h")).toEqual([""]);
  });
});
