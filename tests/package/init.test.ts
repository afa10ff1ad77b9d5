import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
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
import { codeBlocks, expectConsoleBlock } from "../http/console-blocks.ts";
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
/** The runtimes of this clone by their names. */
const PATH = [
  ...["node_modules/node/bin", "tools/node_modules/.bin"].map((path) => join(root, path)),
  process.env["PATH"],
].join(":");

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
  use: (url: string, output: () => string) => Promise<void>,
): Promise<void> {
  const child = spawn("sh", ["-c", `exec ${command}`], {
    cwd: path,
    env: { ...process.env, ...env, PATH },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: npm starts the server, and both are to end.
    detached: true,
  });
  const ended = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const port = (): string | undefined => /http:\/\/[^\s/]+:(\d+)/u.exec(output)?.[1];
  try {
    await eventually(() => port() !== undefined || child.exitCode !== null, "it listens");
    expect(port(), output).toBeDefined();
    await use(`http://127.0.0.1:${port()}`, () => output);
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
    await ended;
  }
}

/** The token of a project's `.env` or `.dev.vars`. */
function tokenOf(path: string, name: string): string {
  expect(statSync(join(path, name)).mode & 0o777).toBe(0o600);
  return (
    /^CAUSEY_TOKEN=(causey_[\w-]{40})$/mu.exec(readFileSync(join(path, name), "utf8"))?.[1] ?? ""
  );
}

/** Installs the packages of a project as its README says, without the tool that brings a second workerd. */
function install(path: string, command: string): void {
  const manifest = join(path, "package.json");
  const { devDependencies, ...own } = JSON.parse(readFileSync(manifest, "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const { wrangler: _, ...others } = devDependencies;
  writeFileSync(manifest, JSON.stringify({ ...own, devDependencies: others }));
  run(path, command === "bun install" ? command : `${command} ${NPM_OPTIONS}`);
}

const NPM_OPTIONS = "--prefer-offline --no-audit --no-fund";

function run(cwd: string, command: string): string {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH },
  });
  expect(status, `${command}: ${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** The start of a project; a Worker's is done by this clone's workerd in place of Wrangler's. */
function startOf(kind: string, start: string): string {
  if (kind !== "workers") return start;
  return `node ${join(root, "scripts/serve-workers.mjs")} --port 0 --no-demo`;
}

const guide = readFileSync(`${root}docs/start.md`, "utf8");
const setUp = codeBlocks(guide, "sh").find((block) => block.includes("export API=")) ?? "";

test.each(["node", "deno", "bun", "workers", "hono"])(
  "in a project of causey init %s each line of the guide works",
  LONG,
  async (kind) => {
    const { next, files } = JSON.parse(
      init(kind, kind, "--json", "--causey", `file:${packed.tarball}`).stdout,
    ) as { next: string[]; files: string[] };
    const path = join(folder, kind);
    const readme = readFileSync(join(path, "README.md"), "utf8");
    for (const file of files.filter((name) => name.endsWith(".ts")))
      expect(readme).toContain(`\`${file}\``);
    const [, installs = "", starts = ""] = next;
    install(path, installs);
    run(path, "node_modules/.bin/tsc --noEmit");
    const token = tokenOf(path, kind === "workers" ? ".dev.vars" : ".env");
    const env = {
      PORT: "0",
      CAUSEY_WORKERS_ENTRY: join(path, "main.ts"),
      CAUSEY_DATA_DIR: join(path, ".causey"),
    };
    const command = startOf(kind, starts);
    await answering(path, command, env, async (url, output) => {
      const runtime = kind === "hono" ? "node" : kind;
      expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ runtime });
      for (const block of codeBlocks(guide, "console"))
        await expectConsoleBlock(block, { folder: path, url, setUp });
      for (const page of ["/console", "/docs", "/openapi.json"])
        expect((await fetch(url + page)).status, page).toBe(200);
      if (kind === "workers") return;
      // What the program asks itself at its start is not a request of anybody's.
      expect(output().split("Listening", 1)[0]).not.toContain('"message":"Request"');
      const code = /#login=(\S+)/u.exec(output())?.[1];
      const session = await fetch(`${url}/console/session`, {
        method: "POST",
        headers: { "x-causey-console": "1", "content-type": "application/json" },
        body: JSON.stringify({ code }),
      });
      expect(session.status).toBe(200);
      if (kind === "hono") await expectHelpDesk(url);
    });
    await expectProvider(path, command, { ...env, OPENAI_API_KEY: "sk-of-this-test" }, token);
  },
);

/** The app of the kind "hono" answers from its handbook, as a page. */
async function expectHelpDesk(url: string): Promise<void> {
  expect(await (await fetch(url)).text()).toContain("<h1>Help desk</h1>");
  const body = new URLSearchParams({ question: "When is the shop open on <Saturday>?" });
  const page = await (await fetch(url, { method: "POST", body })).text();
  expect(page).toContain("10 to 14");
  expect(page).toContain("opening-hours.md");
  expect(page).not.toContain("<Saturday>");
}

/** The last step of the guide: the provider of its block, here a played one, is asked with the key. */
async function expectProvider(
  path: string,
  command: string,
  env: Readonly<Record<string, string>>,
  token: string,
): Promise<void> {
  const asked: unknown[] = [];
  const upstream = createServer((request, response) => {
    asked.push(request.headers.authorization);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { content: "Hello" } }] }));
  }).listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const { port } = upstream.address() as AddressInfo;
  const [block = ""] = codeBlocks(guide, "json");
  const { gateway } = JSON.parse(block) as { gateway: { providers: { openai: object } } };
  const openai = { ...gateway.providers.openai, baseUrl: `http://127.0.0.1:${port}/v1` };
  const file = join(path, "causey.json");
  const own = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...own, gateway: { providers: { openai } } }));
  if (existsSync(join(path, ".dev.vars")))
    appendFileSync(join(path, ".dev.vars"), `OPENAI_API_KEY=${env["OPENAI_API_KEY"]}\n`);
  await answering(path, command, env, async (url) => {
    const response = await fetch(`${url}/v1/local/default/openai/chat/completions`, {
      method: "POST",
      headers: { "cf-aig-authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}',
    });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining("Hello"),
    ]);
  });
  expect(asked).toEqual([`Bearer ${env["OPENAI_API_KEY"]}`]);
  upstream.close();
}

test("npx with a tarball makes a project that installs this tarball", LONG, () => {
  run(folder, `npm exec --yes ${NPM_OPTIONS} --package=${packed.tarball} -- causey init node npx`);
  const manifest = readFileSync(join(folder, "npx/package.json"), "utf8");
  expect(JSON.parse(manifest)).toMatchObject({
    dependencies: { causey: `file:${realpathSync(packed.tarball)}` },
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
