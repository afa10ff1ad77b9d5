import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { bytesOf, libreOfficeDocx } from "../fakes/office-files.ts";
import { cloneTo } from "./packed.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "causey-install-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([".", "tools", "tools/releases", "tools/site", "tests/clients"])(
  "npm ci takes the lockfile of %s",
  LONG,
  (name) => {
    for (const file of ["package.json", "package-lock.json", ".npmrc"])
      if (existsSync(join(root, name, file))) cpSync(join(root, name, file), join(folder, file));
    // A dry run compares every dependency, also other systems', with the lockfile. It downloads nothing.
    const { status, stdout, stderr } = spawnSync(
      "npm",
      ["ci", "--dry-run", "--offline", "--ignore-scripts"],
      { cwd: folder, encoding: "utf8" },
    );
    expect(status, stdout + stderr).toBe(0);
  },
);

const deno = join(root, "tools/node_modules/deno/deno");

test("npm start installs only what serving needs, and serves", LONG, async () => {
  const clone = await serveClone("node", process.execPath, "scripts/run.mjs", "serve");
  expect(megabytesOf(join(clone, "node_modules"))).toBeLessThan(300);
  expect(existsSync(join(clone, "node_modules/vitest"))).toBe(false);
  expect(readdirSync(clone).filter((name) => name.startsWith(".serving"))).toEqual([]);
});

test.each([
  [[], "Usage: causey [serve] [options]"],
  [["token"], "Usage: causey token create"],
  [["prices"], "Usage: causey prices"],
])("npm start takes the command's other subcommands: %j", (words, usage) => {
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, "scripts/run.mjs"), "serve", ...words, "--help"],
    { encoding: "utf8" },
  );
  expect(stdout).toContain(usage);
});

test("deno task serve needs neither npm nor node_modules", LONG, async () => {
  const clone = await serveClone("deno", deno, "task", "serve");
  expect(readdirSync(clone)).not.toContain("node_modules");
});

test("Deno takes the versions of package.json", () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), "utf8"));
  const { imports } = read("deno.json") as { imports: Record<string, string> };
  const { dependencies, devDependencies } = read("package.json") as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const packages = Object.entries(imports).filter(([, target]) => target.startsWith("npm:"));
  // Those that a host brings or leaves out.
  const peers = [
    "hono",
    "@cantoo/pdf-lib",
    "@modelcontextprotocol/server",
    "@mozilla/readability",
    "@sqlite.org/sqlite-wasm",
    "fflate",
    "jschardet",
    "linkedom",
    "postal-mime",
    "postgres",
    "unpdf",
  ];
  const expected = [...Object.keys(dependencies), ...peers].map((name) => [
    name,
    `npm:${name}@${dependencies[name] ?? devDependencies[name]}`,
  ]);
  expect(Object.fromEntries(packages)).toEqual(Object.fromEntries(expected));
});

/** Serves a clone in which nothing was installed, until it answered; returns its folder. */
async function serveClone(runtime: string, file: string, ...args: string[]): Promise<string> {
  const clone = join(folder, "clone");
  cloneTo(clone);
  const child = spawn(file, [...args, "--port", "0"], {
    cwd: clone,
    env: { ...process.env, npm_config_prefer_offline: "true" },
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
    const ready = await fetch(`${address()}/readyz`);
    expect(await ready.json()).toMatchObject({ status: "ready", runtime });
    expect(await readAFile(`${address()}`, join(clone, ".causey/token"))).toBe("completed");
  } finally {
    child.kill();
    await ended;
  }
  return clone;
}

/** Uploads a document of Word's format, whose reader needs a package; returns the status of its item. */
async function readAFile(origin: string, tokenFile: string): Promise<string> {
  const form = new FormData();
  form.set("file", new File([bytesOf(libreOfficeDocx)], "contract.docx"));
  form.set("wait_for_completion", "true");
  const path = "/client/v4/accounts/local/ai-search/instances/demo/items";
  const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  const answer = await fetch(origin + path, {
    method: "POST",
    headers: { authorization },
    body: form,
  });
  const { result, errors } = (await answer.json()) as {
    readonly result: { readonly status: string } | null;
    readonly errors: readonly { readonly message: string }[];
  };
  return result?.status ?? errors.map(({ message }) => message).join();
}

function megabytesOf(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.size / 1e6;
  return readdirSync(path).reduce((sum, name) => sum + megabytesOf(join(path, name)), 0);
}
