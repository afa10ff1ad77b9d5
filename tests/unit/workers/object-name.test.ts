import fc from "fast-check";
import { expect, test } from "vitest";
import {
  hasNativeName,
  objectName,
  parseObjectName,
} from "../../../adapters/workers/objects/object-name.ts";

const text = fc.string({ unit: "grapheme" });

test("an object's name gives back its prefix, kind and actor, whatever they hold", () => {
  fc.assert(
    fc.property(text, text, fc.string(), (prefix, kind, name) => {
      expect(parseObjectName(objectName({ prefix, kind, name }))).toEqual({ prefix, kind, name });
    }),
  );
});

test("kinds and names that run together alike are different objects", () => {
  const names = [
    objectName({ prefix: "", kind: "agent:a", name: "b" }),
    objectName({ prefix: "", kind: "agent", name: "a:b" }),
    objectName({ prefix: "agent", kind: "a", name: "b" }),
    objectName({ prefix: "", kind: "agent/a", name: "b" }),
  ];
  expect(new Set(names).size).toBe(names.length);
});

test("a name of more than 1,024 bytes is no native one", () => {
  expect(hasNativeName("ä".repeat(512))).toBe(true);
  expect(hasNativeName("ä".repeat(513))).toBe(false);
});
