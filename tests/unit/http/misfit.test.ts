import * as v from "valibot";
import { expect, it } from "vitest";
import { expecting, misfitText } from "../../../core/http/fields/misfit.ts";

const pet = v.object({
  name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(5)),
  kind: v.picklist(["dog", "parrot"]),
  age: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(90))),
  toys: v.optional(v.pipe(v.array(v.string()), v.maxLength(2))),
  tame: v.optional(v.union([v.boolean(), v.string()])),
  home: v.optional(v.object({ street: v.string(), city: v.string() })),
  mail: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => text.includes("@"), "expected an address"),
    ),
  ),
});
const good = { name: "Rex", kind: "dog", age: 3 };

it.each<[object, string]>([
  [{}, 'Missing fields "name", "kind" and "age"'],
  [{ name: "Rex", kind: "dog" }, 'Missing field "age"'],
  [{ name: "Rex", kind: 1 }, 'Missing field "age"; kind: expected "dog" or "parrot", got 1'],
  [{ ...good, home: {} }, 'Missing fields "home.street" and "home.city"'],
  [["Rex"], "expected an object, got a list"],
  [{ ...good, home: ["x"] }, "home: expected an object, got a list"],
  [
    { ...good, kind: "parot" },
    'kind: expected "dog" or "parrot", got "parot": did you mean "parrot"?',
  ],
  [{ ...good, name: 3 }, "name: expected a string, got 3"],
  [{ ...good, name: [] }, "name: expected a string, got a list"],
  [{ ...good, name: {} }, "name: expected a string, got an object"],
  [{ ...good, name: "" }, "name: expected a value that is not empty"],
  [{ ...good, name: "abcdef" }, "name: expected at most 5 characters, got 6"],
  [{ ...good, toys: ["a", "b", "c"] }, "toys: expected at most 2 entries, got 3"],
  [{ ...good, toys: ["a", 1] }, "toys.1: expected a string, got 1"],
  [{ ...good, age: "x" }, 'age: expected a number, got "x"'],
  [{ ...good, age: 1.5 }, "age: expected a whole number, got 1.5"],
  [{ ...good, age: -1 }, "age: expected at least 0, got -1"],
  [{ ...good, age: 91 }, "age: expected at most 90, got 91"],
  [{ ...good, tame: 1 }, "tame: expected true or false or a string, got 1"],
  [{ ...good, mail: "x" }, "mail: expected an address"],
  [{ ...good, name: 1, kind: "x".repeat(1000) }, "name: expected a string, got 1"],
])("%o is refused in words", (value, text) => {
  const result = v.safeParse(pet, value, { abortPipeEarly: true });
  expect(result.success ? null : misfitText(result.issues)).toBe(text);
});

it("lists the values of a missing choice, and the fields of an object that has another", () => {
  const order = v.strictObject({
    of: v.picklist(["events", "dead-letters"]),
    limits: v.optional(v.array(v.variant("kind", [v.object({ kind: v.literal("cost") })]))),
  });
  const told = (value: unknown): string => {
    const { issues } = v.safeParse(order, value, { abortPipeEarly: true });
    return misfitText(issues ?? [], { of: { schema: order, value } });
  };
  expect(told({})).toBe('Missing field "of": expected "events" or "dead-letters"');
  expect(told({ of: "events", limits: [{}] })).toBe(
    'Missing field "limits.0.kind": expected "cost"',
  );
  expect(told({ of: "events", what: 1 })).toBe('Unknown field "what": it takes of, limits');
  expect(told({ of: "events", limit: 1 })).toBe('Unknown field "limit": did you mean "limits"?');
});

it("names the alternatives of a choice within a choice one by one", () => {
  const role = v.object({
    role: v.union([v.picklist(["system", "developer"]), v.literal("user")]),
  });
  const { issues } = v.safeParse(role, { role: "usr" });
  expect(misfitText(issues ?? [])).toBe(
    'role: expected "system", "developer" or "user", got "usr": did you mean "user"?',
  );
});

it("names the value beside the words of a check", () => {
  const id = v.object({ id: v.pipe(v.string(), v.regex(/^[a-z]+$/u, expecting("small letters"))) });
  const { issues } = v.safeParse(id, { id: "A B" });
  expect(misfitText(issues ?? [])).toBe('id: expected small letters, got "A B"');
});

it("quotes a part of a long text, and none where it may be a secret", () => {
  const { issues } = v.safeParse(pet, { ...good, age: "x".repeat(1000) });
  expect(misfitText(issues ?? [])).toBe(`age: expected a number, got "${"x".repeat(79)}…"`);
  expect(misfitText(issues ?? [], { quotes: false })).toBe("age: expected a number, got a string");
  const wide = v.object(
    Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`f${n}`, v.string()])),
  );
  const many = misfitText(v.safeParse(wide, {}).issues ?? []);
  expect(many).toMatch(/^Missing fields "f0", .* and 20 others$/u);
});
