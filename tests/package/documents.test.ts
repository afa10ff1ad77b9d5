import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { commandWords } from "../../adapters/cli/print/completion.ts";
import { configSchema } from "../../core/config/config.ts";
import { root } from "../config/shared.ts";
import { pagesOfDocs } from "./sources.ts";

const read = (page: string): string => readFileSync(`${root}${page}`, "utf8");

/** What stands between backticks. */
const quoted = (text: string): string[] =>
  [...text.replaceAll(/^```[\s\S]*?^```$/gmu, "").matchAll(/`([^`\n]+)`/gu)].map(
    ([, one = ""]) => one,
  );

/** The top of the tree, by which a path of the repository is told from another text with a slash. */
const TOP =
  /^(?:\.\/)?(?:core|adapters|console|page-scripts|tests|bench|docs|examples|scripts|tools)\//u;

const pages = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

/** Every file that a bare name, such as `schemes.ts`, can mean. */
const files = ["core", "adapters", "tests/config", "tests/cases", "docs"].flatMap((folder) =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" }).map(
    (name) => `/${name.replaceAll("\\", "/")}`,
  ),
);

it.each(pages)("every path that %s names is there", (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/gu)].map(
    ([, to = ""]) => to,
  );
  const named = quoted(read(page)).filter((text) => TOP.test(text) && !/[\s<*…]/u.test(text));
  expect(named.length).toBeGreaterThan(3);
  expect([...links, ...named].filter((path) => !existsSync(`${root}${path}`))).toEqual([]);
  const bare = quoted(read(page)).filter((text) => /^[\w-]+(?:\/[\w-]+)*\.ts$/u.test(text));
  const unknown = bare.filter(
    (name) => !existsSync(`${root}${name}`) && !files.some((file) => file.endsWith(`/${name}`)),
  );
  expect(unknown).toEqual([]);
});

it("each symptom in CONTRIBUTING.md names a source file and a test", () => {
  const [, section = ""] = read("CONTRIBUTING.md").split("## What you see, and where to look\n");
  const [table = ""] = section.split("\n## ");
  const rows = [...table.matchAll(/^\| ([^|]+) \| ([^|]*) \| ([^|]*) \| [^|]*\|$/gmu)]
    .map(([, symptom = "", file = "", test = ""]) => ({ symptom, file, test }))
    .filter(({ file }) => file.includes("`"));
  const isThere = (path: string): boolean => TOP.test(path) && existsSync(`${root}${path}`);
  const incomplete = rows.filter(({ file, test }) => {
    const hasTest = quoted(test).length > 0 || file.includes("`tests/");
    return !hasTest || ![...quoted(file), ...quoted(test)].every(isThere);
  });
  expect(rows.length).toBeGreaterThanOrEqual(15);
  expect(incomplete.map(({ symptom }) => symptom)).toEqual([]);
});

it("every file that the map of ARCHITECTURE.md names is there", () => {
  const [, map = ""] = /^```\n([\s\S]*?)^```$/mu.exec(read("ARCHITECTURE.md")) ?? [];
  const missing: string[] = [];
  let folder = "";
  for (const line of map.split("\n")) {
    const [, indent = "", names = ""] = /^( *)((?:[\w./-]+ {2})*[\w./-]+)/u.exec(line) ?? [];
    const paths = names.split(/ +/u).filter((name) => /\/$|\.\w+$/u.test(name));
    if (indent === "") [folder = ""] = paths;
    const base = indent === "" || indent.length > 2 ? "" : folder;
    missing.push(
      ...paths.filter((path) => indent.length <= 2 && !existsSync(`${root}${base}${path}`)),
    );
  }
  expect(map).toContain("core/");
  expect(missing).toEqual([]);
});

it("every folder of core/gateway has its row in ARCHITECTURE.md", () => {
  const rows = [...read("ARCHITECTURE.md").matchAll(/^\| (`[^|]+) \|/gmu)];
  const folders = rows.flatMap(([, cell = ""]) => quoted(cell));
  expect(folders.length).toBeGreaterThan(10);
  expect(folders.filter((one) => !existsSync(`${root}core/gateway/${one}`))).toEqual([]);
});

interface Shape {
  readonly entries?: Readonly<Record<string, Shape>>;
  readonly wrapped?: Shape;
  readonly value?: Shape;
  readonly item?: Shape;
}

/** The members of an object within, of each element of a list, and of each value of a record. */
function members(schema: Shape): Readonly<Record<string, Shape>> {
  const within = schema.wrapped ?? schema.item ?? schema.value;
  return schema.entries ?? (within === undefined ? {} : members(within));
}

it("docs/configuration.md has a row for each key of the file, and for no other", () => {
  const [table = ""] = read("docs/configuration.md").split("\n## ");
  const rows = new Map<string, string>();
  for (const [row, keys = ""] of table.matchAll(/^\| (`[^|]+`) \|.*$/gmu))
    for (const key of quoted(keys)) rows.set(key.replace(/\.<\w+>$|\[\]$/u, ""), row);
  const expected: string[] = [];
  const unnamed: string[] = [];
  const expectRow = (key: string, schema: Shape): void => {
    expected.push(key);
    const lacks = Object.keys(members(schema)).filter((name) => !rows.get(key)?.includes(name));
    unnamed.push(...lacks.map((name) => `${key}.${name}`));
  };
  const { $schema: _, ...keys } = members(configSchema as Shape);
  for (const [key, schema] of Object.entries(keys)) {
    if (rows.has(key)) expectRow(key, schema);
    else
      for (const [name, inner] of Object.entries(members(schema)))
        expectRow(`${key}.${name}`, inner);
  }
  expect([...rows.keys()].toSorted()).toEqual(expected.toSorted());
  expect(unnamed).toEqual([]);
});

/** The command lines of a page, in blocks and between backticks: what stands behind `causey` or `npm start --`. */
function commandLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```\w+\n([\s\S]*?)^```$/gmu)].map(([, code = ""]) => code);
  const lines = [...blocks.flatMap((code) => code.split("\n")), ...quoted(text)];
  return lines.flatMap((line) => {
    const start =
      /^(?:\w+=\S+ )*(?:ExecStart=\/usr\/bin\/env )?(?:npx )?(?:causey|npm start --) (.*)$/u;
    const found = start.exec(line)?.[1] ?? /^CMD \[.*?causey", (.*)\]$/u.exec(line)?.[1];
    return found === undefined ? [] : [found.replaceAll(/[",]/gu, "").replace(/ # .*$/u, "")];
  });
}

it.each(["README.md", "CONTRIBUTING.md", ...pagesOfDocs()])(
  "every command that %s shows is there, with its options",
  (page) => {
    const unknown: string[] = [];
    for (const line of commandLines(read(page))) {
      const [first = ""] = line.split(" ");
      const command = first.startsWith("-") ? "serve" : first;
      const options = [...line.matchAll(/(?:^| )--([a-z][a-z-]*)/gu)].map(([, name = ""]) => name);
      // scripts/run.mjs takes `--watch`: it is the runtime's.
      const isWatched = /^--watch\b/u.test(line);
      const known = isWatched ? ["watch"] : commandWords[command]?.options;
      if (known === undefined || options.some((name) => !known.includes(name))) unknown.push(line);
    }
    expect(unknown).toEqual([]);
  },
);

it("the documents show commands", () => {
  expect(pagesOfDocs().flatMap((page) => commandLines(read(page))).length).toBeGreaterThan(40);
});
