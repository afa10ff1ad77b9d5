import { expect, test } from "vitest";
import { readSources } from "./sources.ts";

// The linter limits single files and functions; this keeps the typical file small as well.

test("half of the source files have at most 150 lines, nine of ten at most 300", () => {
  const sizes = readSources("core", "adapters")
    .map(({ lines }) => lines)
    .toSorted((a, b) => a - b);
  expect(sizes[Math.floor(sizes.length * 0.5)]).toBeLessThanOrEqual(150);
  expect(sizes[Math.floor(sizes.length * 0.9)]).toBeLessThanOrEqual(300);
});

/** An interface and the names of its own members, those that it extends not counted. */
function interfacesOf(code: string): (readonly [name: string, members: string[]])[] {
  return [...code.matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gmu)].map(
    ([, name = "", body = ""]) => [
      name,
      [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gmu)].map(([, member = ""]) => member),
    ],
  );
}

test("a port has at most five members of its own", () => {
  const ports = readSources("core").filter(({ path }) => /^core\/ports[./]/u.test(path));
  const found = ports.flatMap(({ code }) => interfacesOf(code));
  expect(found.length).toBeGreaterThan(20);
  // What a caller hands over is no port.
  const data = new Set(["OutboundRequest", "SiteWish"]);
  expect(found.filter(([name, members]) => members.length > 5 && !data.has(name))).toEqual([]);
});
