import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkNode } from "../../adapters/shared/work/check-node.ts";
import { eventually, LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { packClone, type Packed } from "./packed.ts";
import { pagesOfDocs } from "./sources.ts";

const nodes = [
  ["22", `${root}tools/releases/node_modules/node22/bin/node`],
  ["24", `${root}node_modules/node/bin/node`],
  ["26", `${root}tools/releases/node_modules/node26/bin/node`],
] as const;
const TOKEN = "package-token-0123456789abcdef";
let packed: Packed;
beforeAll(() => {
  packed = packClone();
}, LONG.timeout);
afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

const read = (path: string): string =>
  readFileSync(join(packed.project, "node_modules/causey", path), "utf8");

/** The relative links of a Markdown file, without their fragments. */
function linksIn(path: string): string[] {
  return [...read(path).matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)[^)]*\)/gu)].map(([, link = ""]) =>
    posix.join(posix.dirname(path), link),
  );
}

test("npm pack builds first, and packs every entry with its documents", () => {
  const { exports } = JSON.parse(read("package.json")) as {
    exports: Record<string, { types: string; default: string } | string>;
  };
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === "string" ? [entry] : [entry.types, entry.default],
  );
  for (const entry of entries) expect(packed.files).toContain(posix.normalize(entry));
  for (const name of pagesOfDocs()) expect(packed.files).toContain(name);
});

test("every relative link of the documents leads to a file of the package", () => {
  const documents = packed.files.filter((path) => path.endsWith(".md"));
  expect(linksIn("README.md").length).toBeGreaterThan(15);
  for (const path of documents)
    for (const link of linksIn(path)) expect(packed.files, `${link} in ${path}`).toContain(link);
});

test("the package has its code once, in few files: no sources beside what is built of them", () => {
  const { files, unpackedBytes } = packed;
  expect(
    files.filter((path) => /(?<!\.d)\.ts$|\.map$/u.test(path) && !path.startsWith("examples/")),
  ).toEqual([]);
  expect(files.length).toBeLessThanOrEqual(2000);
  expect(unpackedBytes).toBeLessThanOrEqual(10_000_000);
});

test("threads and processes lie beside the chunk that starts them", () => {
  const starts = packed.files
    .filter((path) => /^dist\/.*\.js$/u.test(path))
    .flatMap((path) =>
      [...read(path).matchAll(/"[\w-]+\.ts" : "([\w-]+\.js)"/gu)].map(([, name = ""]) =>
        posix.join(posix.dirname(path), name),
      ),
    );
  expect(starts).toHaveLength(4);
  for (const file of starts) expect(packed.files).toContain(file);
});

test("the package holds no tests, settings or secrets of the clone", () => {
  const folders = new Set(packed.files.map((path) => path.split("/")[0]));
  const documents = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
  ];
  const code = ["bench", "dist", "docs", "examples", "package.json"];
  expect(folders).toEqual(new Set([...documents, ...code]));
  expect(packed.files.filter((path) => path.endsWith("tsconfig.json"))).toEqual([]);
});

test("the home page and the issues are those of the repository", () => {
  const manifest = JSON.parse(read("package.json")) as {
    homepage: string;
    bugs: string;
    repository: { url: string };
  };
  const url = manifest.repository.url.replace(/^git\+(.*)\.git$/u, "$1");
  expect([manifest.homepage, manifest.bugs]).toEqual([`${url}#readme`, `${url}/issues`]);
});

/** Starts the installed command, and ends it when `use` is done. */
async function serving(
  node: string,
  use: (url: string) => Promise<void>,
  more: NodeJS.ProcessEnv = {},
): Promise<string> {
  const child = spawn(node, ["node_modules/causey/dist/cli/main.js", "serve", "--port", "0"], {
    cwd: packed.project,
    // Any executable stands in for the browser, which is not used.
    env: { ...process.env, CAUSEY_TOKEN: TOKEN, CAUSEY_CHROMIUM_PATH: node, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = once(child, "exit");
  const address = (): string | undefined => /http:\/\/127\.0\.0\.1:\d+/u.exec(output)?.[0];
  try {
    await eventually(() => address() !== undefined || child.exitCode !== null, "it serves");
    expect(address(), errors).toBeDefined();
    await use(address() ?? "");
  } finally {
    child.kill();
    await ended;
    rmSync(join(packed.project, ".causey"), { recursive: true, force: true });
  }
  return errors;
}

/** Has a file indexed, and deletes it: what Node's SQLite makes of the numbers of full text differs between versions. */
async function indexAndDelete(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const instances = `${url}/client/v4/accounts/local/ai-search/instances`;
  const made = await fetch(instances, { method: "POST", headers, body: '{"id":"files"}' });
  expect(made.ok, await made.text()).toBe(true);
  const form = new FormData();
  form.set("file", new File(["Zebras have stripes."], "zebra.md"));
  form.set("wait_for_completion", "true");
  const uploaded = await fetch(`${instances}/files/items`, { method: "POST", headers, body: form });
  const item = (await uploaded.json()) as { result: { id: string; status: string } };
  expect(item.result.status).toBe("completed");
  const path = `${instances}/files/items/${item.result.id}`;
  expect((await fetch(path, { method: "DELETE", headers })).status).toBe(200);
}

test.each(nodes)(
  "the package serves on Node %s, and its standard error has its log only",
  LONG,
  async (_name, node) => {
    const errors = await serving(node, async (url) => {
      expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: "ready" });
      await indexAndDelete(url);
    });
    // The machine that runs this may lack fonts, which is told once.
    const isOther = (line: string): boolean =>
      !/"message":"(?:Request|Fonts of the browser)"/u.test(line);
    const others = errors.split("\n").filter(isOther);
    expect(others.join("\n")).toBe("");
  },
);

test.each(nodes)(
  "the package's library opens a platform on Node %s without a warning",
  (_name, node) => {
    const program = `
    import { platformApi } from "causey";
    import { nodePlatform } from "causey/node";
    const platform = await nodePlatform({ dataDir: ":memory:" });
    const api = platformApi({ platform, accountId: "a", auth: "off" });
    console.log((await api.request("/healthz")).status);
    await platform.close();`;
    const { stdout, stderr } = spawnSync(node, ["--input-type=module", "--eval", program], {
      cwd: packed.project,
      encoding: "utf8",
    });
    expect([stdout.trim(), stderr]).toEqual(["200", ""]);
  },
);

test("a Node that is too old is told so in one line", () => {
  const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
  const minimum = engines.node.replace(">=", "");
  const say = (node: string): string => {
    try {
      checkNode({ node });
      return "";
    } catch (error) {
      return String(error);
    }
  };
  for (const fine of [`${minimum}.0`, "24.0.0"]) expect(say(fine)).toBe("");
  for (const old of ["20.20.2", "22.18.0", "18.0.0"])
    expect(say(old)).toBe(`Error: causey needs Node ${minimum} or newer: this is Node ${old}`);
});

test("the demo of the package answers from the documents", LONG, async () => {
  await serving(process.execPath, async (url) => {
    const answer = await fetch(
      `${url}/client/v4/accounts/local/ai-search/instances/demo/chat/completions`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({
          messages: [{ role: "user", content: "How do I rotate the master key?" }],
        }),
      },
    );
    const { chunks, choices } = (await answer.json()) as {
      chunks: { item: { key: string } }[];
      choices: { message: { content: string } }[];
    };
    expect(chunks.map(({ item }) => item.key)).toContain("docs/gateway/management.md");
    expect(choices[0]?.message.content).toContain("formerMasterKeys");
  });
});

/** Notes the size of each file that Node loads as code, in the process and what it starts anew. */
const NOTE_MODULES = `
import { appendFileSync, statSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:") && !url.includes("note-modules"))
      appendFileSync(process.env.NOTED, statSync(new URL(url)).size + " " + url + "\\n");
    return next(url, context);
  },
});`;

test("a server loads no more code at its start than it serves with", LONG, async () => {
  const note = join(packed.folder, "note-modules.mjs");
  const noted = join(packed.folder, "modules.txt");
  writeFileSync(note, NOTE_MODULES);
  const hook = { NODE_OPTIONS: `--import ${note}`, NOTED: noted };
  await serving(process.execPath, () => Promise.resolve(), hook);
  const sizes = new Map<string, number>();
  for (const line of readFileSync(noted, "utf8").trim().split("\n")) {
    const [size, url = ""] = line.split(" ");
    sizes.set(url, Number(size));
  }
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  // Each megabyte of code takes six to ten of memory. Raise it for a reason only; `npm run bench -- idle` shows what it costs.
  expect(bytes).toBeLessThan(5_400_000);
  const development = /@sparticuz|typescript|vitest|esbuild|workerd|oxlint/u;
  expect([...sizes.keys()].filter((url) => development.test(url))).toEqual([]);
});
