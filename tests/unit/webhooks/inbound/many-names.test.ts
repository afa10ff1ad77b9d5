import { expect, it } from "vitest";
import { nameSpaces } from "../../../../core/webhooks/inbound/name-space.ts";
import type { SourceOptions } from "../../../../core/webhooks/mod.ts";

/** Options that count how often something is read of them. */
function counted(options: SourceOptions, reads: Map<string, number>): SourceOptions {
  return new Proxy(options, {
    get(target, name, receiver) {
      const key = String(name);
      reads.set(key, (reads.get(key) ?? 0) + 1);
      return Reflect.get(target, name, receiver);
    },
  });
}

it("many sources, entities and former names are each looked at once, not once for each other", () => {
  const reads = new Map<string, number>();
  const names = Array.from({ length: 200 }, (_, n) => `source${n}`);
  const of = (name: string, kind: string) => Array.from({ length: 50 }, (_, n) => name + kind + n);
  const sources = Object.fromEntries(
    names.map((name, n) => {
      const named = { entities: of(name, "e"), formerNames: of(name, "f") };
      const group = n % 2 === 0 ? {} : { group: "pair" };
      return [name, counted({ scheme: "generic", agent: "Shop", ...named, ...group }, reads)];
    }),
  );
  const spaceOf = nameSpaces(sources);
  const spaces = names.map(spaceOf);
  for (const member of ["agent", "entities", "formerNames"])
    expect([member, (reads.get(member) ?? 0) / names.length]).toEqual([
      member,
      expect.toSatisfy((each: number) => each <= 2),
    ]);
  const [own, first, , second] = spaces;
  expect(first?.owners).toHaveLength(100 * 51);
  expect([first?.owners[0], second?.owners[0], own?.owners.length]).toEqual([
    "source1",
    "source3",
    51,
  ]);
  expect(first?.owners).toContain("source3f49");
  for (const [owner, isForeign] of [
    ["source0", false],
    ["source0f7", false],
    ["source1", true],
    ["source2f49", true],
    ["source2e1", false],
    ["nobody", false],
  ] as const)
    expect([owner, own?.isForeign(owner)]).toEqual([owner, isForeign]);
  expect(own?.reservation("source0e0")).toBe("own");
  expect(own?.reservation("source1e0")).toBe("other");
  expect(own?.reservation("source1f0")).toBe("none");
  expect(reads.get("agent")).toBe(names.length);
});
