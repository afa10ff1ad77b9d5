import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { compile, emptyProject } from "./compile.ts";
import { packClone, type Packed } from "./packed.ts";

interface Symbol {
  readonly name: string;
  readonly declarations: readonly {
    readonly kind: string;
    readonly jsDoc?: {
      readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
    };
  }[];
}

/** A function, class or value that an entry exports, with its example. */
interface Documented {
  readonly entry: string;
  readonly name: string;
  /** The code of its `@example`; null without one. */
  readonly example: string | null;
}

const deno = `${root}tools/node_modules/deno/deno`;
const { exports: entries } = JSON.parse(readFileSync(`${root}deno.json`, "utf8")) as {
  exports: Readonly<Record<string, string>>;
};

/** Every value that an entry exports itself, or takes over from core. */
function documented(): Documented[] {
  const { stdout } = spawnSync(deno, ["doc", "--json", ...Object.values(entries)], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 27,
  });
  const { nodes } = JSON.parse(stdout) as {
    nodes: Readonly<Record<string, { readonly symbols: readonly Symbol[] }>>;
  };
  return Object.entries(entries).flatMap(([entry, file]) => {
    const { symbols = [] } =
      Object.entries(nodes).find(([url]) => url.endsWith(file.slice(1)))?.[1] ?? {};
    return symbols.flatMap(({ name, declarations }) => {
      const made = declarations.find(({ kind }) =>
        ["function", "class", "variable"].includes(kind),
      );
      if (made === undefined) return [];
      const doc = made.jsDoc?.tags?.find(({ kind }) => kind === "example")?.doc;
      const code = /^```ts\n([\s\S]*)\n```$/u.exec(doc?.trim() ?? "")?.[1];
      return [{ entry: entry.slice(2), name, example: code === undefined ? null : `${code}\n` }];
    });
  });
}

/** The types of the runtime that an entry is for. */
const typesOf: Readonly<Record<string, string>> = {
  bun: "bun",
  workers: "@cloudflare/workers-types",
};

/** What an example uses of a package that the tests do not install. */
const TURNDOWN = `
declare module "turndown" {
  type Plugin = (service: Turndown) => void;
  type Rule = { filter: string; replacement: (content: string) => string };
  export default class Turndown {
    constructor(options?: object);
    addRule(name: string, rule: Rule): this;
    use(plugins: Plugin | Plugin[]): this;
    turndown(html: string | { readonly innerHTML: string }): string;
  }
}
`;

let packed: Packed;
const all = documented();
const sources = (of: readonly Documented[]): Record<string, string> =>
  Object.fromEntries(
    of.map(({ entry, name, example }) => [
      `${[entry || "core", name].join("-").replaceAll("/", "-")}.ts`,
      example ?? "",
    ]),
  );
const isFor =
  (...runtimes: readonly string[]) =>
  ({ entry }: Documented): boolean =>
    runtimes.includes(entry);

beforeAll(() => {
  packed = packClone();
}, LONG.timeout);
afterAll(() => rmSync(packed.folder, { recursive: true, force: true }), LONG.timeout);

test("every public function, class and value shows an example", () => {
  expect(all.length).toBeGreaterThan(60);
  const bare = all.filter(({ example }) => example === null);
  expect(bare.map(({ entry, name }) => `${entry}: ${name}`)).toEqual([]);
});

test.each(["node", "bun", "workers"])("the examples for %s have no error of types", LONG, (one) => {
  const own = all.filter(
    one === "node" ? (it) => !isFor("bun", "deno", "workers")(it) : isFor(one),
  );
  const folder = emptyProject(packed, `examples-${one}`);
  const said = compile(
    folder,
    { ...sources(own), "turndown.d.ts": TURNDOWN },
    {
      module: "esnext",
      moduleResolution: "bundler",
      // Those of the packages that the examples use have errors of their own.
      skipLibCheck: true,
      lib: ["ES2024", "DOM", "DOM.Iterable"],
      types: [typesOf[one] ?? "node"],
      typeRoots: [join(root, "node_modules/@types"), join(root, "node_modules")],
    },
  );
  expect(said).toBe("");
});

test("the examples for deno have no error of types", LONG, () => {
  const folder = emptyProject(packed, "examples-deno");
  const own = sources(all.filter(isFor("deno")));
  for (const [name, source] of Object.entries(own)) writeFileSync(join(folder, name), source);
  const { status, stderr } = spawnSync(
    deno,
    ["check", "--config", join(root, "deno.json"), ...Object.keys(own)],
    { cwd: folder, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } },
  );
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
});

/** An expression, and the value that the example says it has. */
const VALUE = /^(.+); \/\/ → (.+)$/gmu;
const runs = all.filter(({ example }) => example?.includes("; // → ") ?? false);

test("those that say a value have it", LONG, () => {
  expect(runs.length).toBeGreaterThanOrEqual(20);
  const folder = emptyProject(packed, "examples-run");
  const own = Object.entries(sources(runs)).map(([name, source]) => {
    const checked = source.replaceAll(VALUE, "isDeep($1, $2);");
    const main = name.replace(/ts$/u, "mts");
    writeFileSync(
      join(folder, main),
      `import { deepEqual as isDeep } from "node:assert";\n${checked}`,
    );
    return main;
  });
  const every = own.map((name) => `await import("./${name}");`).join("\n");
  writeFileSync(join(folder, "all.mts"), every);
  const { status, stderr } = spawnSync(process.execPath, ["all.mts"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
});
