import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { packClone, type Packed } from "./packed.ts";

// The package is packed once for all tests of this file.
const packed: Packed = packClone();
const folder = mkdtempSync(join(tmpdir(), "causey-init-"));
afterAll(() => {
  for (const path of [folder, packed.folder]) rmSync(path, { recursive: true, force: true });
});

const cli = join(packed.project, "node_modules/causey/dist/cli/main.js");
const deno = join(root, "tools/node_modules/deno/deno");
const bun = join(root, "tools/node_modules/bun/bin");

function init(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [cli, "init", ...args], { cwd: folder, encoding: "utf8" });
}

interface Manifest {
  readonly scripts: { readonly start: string };
  readonly dependencies: Readonly<Record<string, string>>;
}

/** A fresh project with the package installed, and its manifest. */
function project(kind: string): { path: string; manifest: Manifest } {
  const { status, stderr } = init(kind, kind);
  expect([status, stderr]).toEqual([0, ""]);
  const path = join(folder, kind);
  symlinkSync(join(packed.project, "node_modules"), join(path, "node_modules"), "junction");
  return {
    path,
    manifest: JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest,
  };
}

/** Runs a command in a project until it answers. */
async function answering(
  path: string,
  command: string,
  env: NodeJS.ProcessEnv,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const child = spawn("sh", ["-c", `exec ${command}`], {
    cwd: path,
    env: {
      ...process.env,
      ...env,
      PATH: `${join(root, "node_modules/node/bin")}:${process.env["PATH"]}`,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const port = (): string | undefined => /http:\/\/[^\s/]+:(\d+)/u.exec(output)?.[1];
  try {
    await eventually(() => port() !== undefined || child.exitCode !== null, "it listens");
    expect(port(), output).toBeDefined();
    await use(`http://127.0.0.1:${port()}`);
  } finally {
    child.kill();
    await ended;
  }
}

/** The token of a project's `.env` or `.dev.vars`. */
function tokenOf(path: string, name: string): string {
  expect(statSync(join(path, name)).mode & 0o777).toBe(0o600);
  return (
    /^CAUSEY_TOKEN=(causey_[\w-]{40})\n$/u.exec(readFileSync(join(path, name), "utf8"))?.[1] ?? ""
  );
}

test.each([
  ["node", (start: string) => start],
  ["bun", (start: string) => start.replace(/^bun /u, `${join(bun, "bun.exe")} `)],
  [
    "deno",
    (start: string) => start.replace(/^deno /u, `${deno} `).replace("--port 8787", "--port 0"),
  ],
] as const)("causey init %s writes a project that runs", LONG, async (kind, commandOf) => {
  const { path, manifest } = project(kind);
  const token = tokenOf(path, ".env");
  await answering(path, commandOf(manifest.scripts.start), { PORT: "0" }, async (url) => {
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
      status: "ready",
      runtime: kind,
    });
    const verify = `${url}/client/v4/user/tokens/verify`;
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(verify, { headers })).status).toBe(200);
    expect((await fetch(verify)).status).toBe(401);
  });
});

test(
  "causey init gateway writes OpenAI, Anthropic and Ollama with a budget per team",
  LONG,
  async () => {
    const { path, manifest } = project("gateway");
    const env = Object.fromEntries(
      readFileSync(join(path, ".env"), "utf8")
        .trim()
        .split("\n")
        .map((line) => line.split("=")),
    ) as Record<string, string>;
    const upstream = createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      const isAnthropic = request.url?.endsWith("/messages") === true;
      const [text, role] = ["Hello", "assistant"];
      const reply = isAnthropic
        ? {
            role,
            type: "message",
            content: [{ type: "text", text }],
            usage: { input_tokens: 9, output_tokens: 1 },
          }
        : {
            choices: [{ message: { role, content: text } }],
            usage: { prompt_tokens: 9, completion_tokens: 1 },
          };
      request.resume().on("end", () => response.end(JSON.stringify(reply)));
    }).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    // Played providers in place of the real ones.
    const file = join(path, "causey.json");
    const config = JSON.parse(readFileSync(file, "utf8")) as {
      gateway: { providers: Record<string, object> };
    };
    for (const [slug, provider] of Object.entries(config.gateway.providers))
      config.gateway.providers[slug] = { ...provider, baseUrl: `http://127.0.0.1:${port}/v1` };
    writeFileSync(file, JSON.stringify(config));
    await answering(path, manifest.scripts.start, { CAUSEY_PORT: "0" }, async (url) => {
      const headers = {
        authorization: `Bearer ${env["ANN_KEY"]}`,
        "content-type": "application/json",
      };
      for (const model of [
        "openai/gpt-4o-mini",
        "anthropic/claude-sonnet-4-5",
        "ollama/llama3.2",
      ]) {
        const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] });
        const target = `${url}/v1/local/default/compat/chat/completions`;
        const response = await fetch(target, { method: "POST", headers, body });
        expect([response.status, await response.text()]).toEqual([
          200,
          expect.stringContaining("Hello"),
        ]);
      }
      const teams = await fetch(`${url}/client/v4/accounts/local/ai-gateway/teams/research`, {
        headers: { authorization: `Bearer ${env["CAUSEY_TOKEN"]}` },
      });
      expect(await teams.json()).toMatchObject({ result: { declared: true, keys: 1 } });
    });
    upstream.close();
  },
);

test("causey init hono writes an app with a gateway in it", LONG, async () => {
  const { path, manifest } = project("hono");
  await answering(path, manifest.scripts.start, { PORT: "0" }, async (url) => {
    expect(await (await fetch(url)).text()).toBe("The host's own page");
  });
});

test("causey init workers writes a Worker that runs in workerd", LONG, async () => {
  const { path } = project("workers");
  expect(readdirSync(path).toSorted()).toEqual([
    ".dev.vars",
    ".gitignore",
    "main.ts",
    "node_modules",
    "package.json",
    "wrangler.jsonc",
  ]);
  const token = tokenOf(path, ".dev.vars");
  const env = {
    CAUSEY_WORKERS_ENTRY: join(path, "main.ts"),
    CAUSEY_TOKEN: token,
    CAUSEY_DATA_DIR: join(folder, "workers-data"),
  };
  const command = `node ${join(root, "scripts/serve-workers.mjs")} --port 0 --no-demo`;
  await answering(path, command, env, async (url) => {
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${url}/client/v4/user/tokens/verify`, { headers })).status).toBe(200);
  });
});

test("causey init overwrites nothing, and says what it takes", () => {
  expect(init("node", "mine", "--causey", "file:../causey.tgz").status).toBe(0);
  const manifest = readFileSync(join(folder, "mine/package.json"), "utf8");
  expect(JSON.parse(manifest)).toMatchObject({
    name: "mine",
    dependencies: { causey: "file:../causey.tgz" },
  });
  const again = init("node", "mine");
  expect([again.status, again.stderr]).toEqual([
    1,
    'error: "mine" is not empty\nhint: Name another folder: nothing is overwritten\n',
  ]);
  const wrong = init("nod");
  expect([wrong.status, wrong.stderr]).toEqual([
    2,
    'error: Unknown kind of project "nod": did you mean "node"?\n',
  ]);
});
