import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "causey-examples-"));
const token = "example-token-0123456789abcdef";

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const deno = join(root, "tools/node_modules/deno/deno");
const bun = join(root, "tools/node_modules/bun/bin/bun.exe");

/** The Worker's folder with this clone installed, as its manifest says. */
const worker = join(folder, "worker");
cpSync(join(root, "examples/workers"), worker, { recursive: true });
mkdirSync(join(worker, "node_modules"), { recursive: true });
for (const [name, from] of [
  ["causey", root],
  ["hono", join(root, "node_modules/hono")],
] as const)
  symlinkSync(from, join(worker, "node_modules", name), "junction");

/** The commands that the first line of each example names. They import the built package by its name. */
const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  node: [process.execPath, "examples/node/main.ts"],
  bun: [bun, "run", "examples/bun/main.ts"],
  deno: [deno, "serve", "-A", "--host", "127.0.0.1", "--port", "0", "examples/deno/main.ts"],
  embed: [process.execPath, "examples/embed/main.ts"],
  workers: [process.execPath, "scripts/serve-workers.mjs", "--port", "0", "--no-demo"],
};

/** Runs an example until `use` is done with its address. */
async function withExample(
  name: string,
  use: (url: string) => Promise<void>,
  own: Readonly<Record<string, string>> = {},
): Promise<void> {
  const [file, ...args] = commands[name] ?? ["false"];
  const env = {
    ...process.env,
    PORT: "0",
    CAUSEY_TOKEN: token,
    CAUSEY_DATA_DIR: join(folder, name),
    CAUSEY_WORKERS_ENTRY: join(worker, "main.ts"),
    ...own,
  };
  const child = spawn(file, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let output = "";
      const read = (text: Buffer): void => {
        output += String(text);
        const found = /http:\/\/[^\s/]+:(\d+)/.exec(output);
        if (found !== null) resolve(`http://127.0.0.1:${found[1]}`);
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.once("exit", () => reject(new Error(`The example ${name} ended: ${output}`)));
    });
    await use(url);
  } finally {
    child.kill("SIGTERM");
    await exited;
  }
}

describe("examples", () => {
  it.each(["node/server", "deno/main", "bun/server", "workers/main", "embed/server"])(
    "%s is at most 15 lines",
    (name) => {
      const lines = readFileSync(join(root, "examples", `${name}.ts`), "utf8")
        .trim()
        .split("\n");
      expect(lines.length).toBeLessThanOrEqual(15);
    },
  );

  it.each(["node", "deno", "bun"])("%s serves the platform API", async (name) => {
    await withExample(name, async (url) => {
      const ready = await fetch(`${url}/readyz`);
      expect(await ready.json()).toMatchObject({ status: "ready", runtime: name });
      const verify = await fetch(`${url}/client/v4/user/tokens/verify`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(await verify.json()).toMatchObject({ success: true, result: { status: "active" } });
    });
  });

  it.each(["node", "deno", "bun"])("%s says that its token is not set", async (name) => {
    const started = withExample(name, () => Promise.resolve(), { CAUSEY_TOKEN: "" });
    await expect(started).rejects.toThrow("such as CAUSEY_TOKEN");
  });

  it("workers has all that it needs in its own manifest, and a wrangler that knows its date", () => {
    const manifest: unknown = JSON.parse(
      readFileSync(join(root, "examples/workers/package.json"), "utf8"),
    );
    // Node 20's npm picks a wrangler of April 2026 where no version is named, which knows no later date.
    expect(manifest).toMatchObject({
      dependencies: { causey: "file:../..", hono: expect.any(String) },
      devDependencies: { wrangler: expect.stringMatching(/^\d+\.\d+\.\d+$/u) },
      engines: { node: ">=22.12" },
    });
  });

  it.each(["node", "bun", "embed"])("%s says in an unbuilt clone what has to run first", (name) => {
    const clone = join(folder, "unbuilt");
    cpSync(join(root, "examples"), join(clone, "examples"), { recursive: true });
    cpSync(join(root, "package.json"), join(clone, "package.json"));
    const [file, ...args] = commands[name] ?? ["false"];
    const { status, stdout, stderr } = spawnSync(file, args, { cwd: clone, encoding: "utf8" });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: "",
      stderr: `error: this clone has no dist folder, which the examples import
hint: run npm install and npm run build in it first
`,
    });
  });

  it("workers serves the platform API, and nobody without a token", async () => {
    await withExample("workers", async (url) => {
      const ready = await fetch(`${url}/readyz`);
      expect(await ready.json()).toMatchObject({ status: "ready", runtime: "workers" });
      const verify = `${url}/client/v4/user/tokens/verify`;
      expect((await fetch(verify)).status).toBe(401);
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(verify, { headers })).status).toBe(200);
    });
  });

  it("embed leaves the host's own page, 404 and errors alone", async () => {
    await withExample("embed", async (url) => {
      const text = async (path: string): Promise<[number, string]> => {
        const response = await fetch(url + path);
        return [response.status, await response.text()];
      };
      expect(await text("/")).toEqual([200, "The host's own page"]);
      expect(await text("/nowhere")).toEqual([404, "The host's own 404"]);
      expect(await text("/boom")).toEqual([500, "The host's own error: the host's own bug"]);
      const chat = await fetch(`${url}/llm/v1/me/open/echo/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "Hello" }] }),
      });
      expect(await chat.json()).toMatchObject({ choices: [{ message: { role: "assistant" } }] });
      const [status, body] = await text("/llm/v1/me/open");
      expect(status).toBeGreaterThanOrEqual(400);
      expect(JSON.parse(body)).toMatchObject({ success: false });
    });
  });
});
