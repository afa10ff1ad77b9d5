// `node scripts/record-clients.ts`: runs the public binaries of Claude Code and Codex once, each in a folder and a home of
// its own, against a provider that is played here on loopback, and keeps their requests for the tests, without what is
// personal, and without the texts of their makers. It installs from npm; no key is needed, and nothing else is asked.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const KEPT = fileURLToPath(new URL("../tests/http/recorded/", import.meta.url));
const PACKAGES = ["@anthropic-ai/claude-code", "@openai/codex"];
const folder = mkdtempSync(join(tmpdir(), "causey-record-"));

type Body = Record<string, unknown>;

interface Recorded {
  readonly scene: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** The call with which the played model begins: the name of a tool, and its input. */
interface Call {
  readonly name: string;
  readonly input: Body;
}

const state: { scene: string; call: Call | null; isLong: boolean } = {
  scene: "",
  call: null,
  isLong: false,
};
const recorded: Recorded[] = [];

/** Runs a program to its end. */
function run(command: string, args: readonly string[], options: Body): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"], ...options });
    const timer = setTimeout(() => child.kill(), 120_000);
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(" ")} ended with ${code}`));
    });
  });
}

const named = (type: string, more: Body): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

/** Says whether the model is to call its tool: in the first round, where the client offers it. */
function calls(body: Body): Call | null {
  const text = JSON.stringify(body);
  const isAnswered = text.includes('"tool_result"') || /"\w+_call_output"/u.test(text);
  return !isAnswered && state.call !== null && text.includes(`"name":"${state.call.name}"`)
    ? state.call
    : null;
}

/** The answer of the played model, in the form that compactions of Claude Code ask for. */
const SAID = "<summary>It printed hello.</summary>";

/** A message of Anthropic's API as a stream. */
function message(body: Body): string {
  const call = calls(body);
  const head = { id: "msg_1", type: "message", role: "assistant", model: body["model"] };
  const usage = { input_tokens: 10, output_tokens: 1 };
  const block =
    call === null
      ? { type: "text", text: "" }
      : { type: "tool_use", id: "toolu_1", name: call.name, input: {} };
  const delta =
    call === null
      ? { type: "text_delta", text: SAID }
      : { type: "input_json_delta", partial_json: JSON.stringify(call.input) };
  const reason = call === null ? "end_turn" : "tool_use";
  return [
    named("message_start", { message: { ...head, content: [], stop_reason: null, usage } }),
    named("content_block_start", { index: 0, content_block: block }),
    named("content_block_delta", { index: 0, delta }),
    named("content_block_stop", { index: 0 }),
    named("message_delta", { delta: { stop_reason: reason }, usage: { output_tokens: 5 } }),
    named("message_stop", {}),
  ].join("");
}

/** A response of OpenAI's API as a stream. */
function response(body: Body): string {
  const call = calls(body);
  const head = { id: "resp_1", object: "response", created_at: 1, model: body["model"] };
  const item =
    call === null
      ? {
          type: "message",
          id: "msg_1",
          role: "assistant",
          content: [{ type: "output_text", text: SAID, annotations: [] }],
        }
      : {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: call.name,
          arguments: JSON.stringify(call.input),
        };
  // More than the client's limit once, so that it compacts the conversation once.
  const tokens = state.isLong ? 900_000 : 15;
  state.isLong = false;
  const usage = { input_tokens: tokens, output_tokens: 5, total_tokens: tokens + 5 };
  const done = { ...head, status: "completed", output: [item], usage };
  return [
    named("response.created", { response: { ...head, status: "in_progress", output: [] } }),
    named("response.output_item.added", { output_index: 0, item }),
    named("response.output_item.done", { output_index: 0, item }),
    named("response.completed", { response: done }),
  ].join("");
}

function answer(path: string, body: Body, res: ServerResponse): void {
  const json = (status: number, value: Body): void => {
    res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  };
  if (path.includes("/count_tokens")) return json(200, { input_tokens: 1234 });
  const text = path.includes("/messages") ? message : path.includes("/responses") ? response : null;
  if (text === null) return json(404, { error: { message: "Not played" } });
  res.writeHead(200, { "content-type": "text/event-stream" }).end(text(body));
}

function onRequest(req: IncomingMessage, res: ServerResponse): void {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const text = Buffer.concat(chunks).toString("utf8");
    const body = (text === "" ? {} : JSON.parse(text)) as Body;
    const { method = "", url = "", headers } = req;
    if (method === "POST") {
      const kept = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      const seen = { method, path: url, headers: Object.fromEntries(kept), body };
      recorded.push({ scene: state.scene, ...seen });
    }
    answer(url, body, res);
  });
}

/** Headers of the connection, and of the machine. */
const LEFT_OUT =
  /^(?:host|connection|content-length|accept-encoding|x-stainless-(?:arch|os|runtime.*))$/u;
/** Characters from which a text is its maker's, and not a word of the protocol. */
const LONG = 160;

type Clean = (value: unknown, key?: string) => unknown;

/** Replaces what is personal: ids in the order in which they come, folders, times, and the machine. */
function cleaning(): Clean {
  const ids = new Map<string, string>();
  const idOf = (id: string): string => {
    const known = ids.get(id) ?? `00000000-0000-4000-8000-${String(ids.size).padStart(12, "0")}`;
    ids.set(id, known);
    return known;
  };
  const text = (given: string): string =>
    given
      .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/giu, idOf)
      .replaceAll(/\b[\da-f]{40,}\b/gu, "0".repeat(64))
      .replaceAll(/\bcc_version=[\w.]+/gu, "cc_version=0")
      .replaceAll(/Chunk ID: \w+\nWall time: [\d.]+/gu, "Chunk ID: 000000\nWall time: 0.0000")
      .replaceAll(/ \([^()]*(?:x86_64|arm64|aarch64)\)/gu, " (Linux)")
      .replaceAll(folder, "/home/user");
  const clean = (value: unknown, key = ""): unknown => {
    if (typeof value === "string") {
      const isProse = value.length > LONG || (key === "description" && value.length > 20);
      return isProse ? `<${value.length} characters>` : text(value);
    }
    if (key.endsWith("_unix_ms")) return 0;
    if (Array.isArray(value)) return value.map((one) => clean(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, name)]));
  };
  return clean;
}

function keep(name: string, version: string): void {
  const clean = cleaning();
  const requests = recorded.splice(0).map(({ headers, ...request }) => {
    const left = Object.entries(headers).filter(([header]) => !LEFT_OUT.test(header));
    const said = left.map(([header, value]) => [header, headerText(value, clean)]);
    return { ...request, headers: Object.fromEntries(said), body: clean(request.body) };
  });
  const text = `${JSON.stringify({ client: name, version, requests }, null, 1)}\n`;
  for (const secret of [folder, tmpdir() + "/", userInfo().username + "@", hostname()])
    if (secret.length > 3 && text.includes(secret)) throw new Error(`"${secret}" is in ${name}`);
  mkdirSync(KEPT, { recursive: true });
  writeFileSync(join(KEPT, `${name}.json`), text);
}

/** Cleans a header, member by member where it holds JSON; lists of betas are kept however long they are. */
function headerText(value: string, clean: Clean): unknown {
  if (!value.startsWith("{"))
    return value
      .split(",")
      .map((one) => clean(one))
      .join(",");
  return JSON.stringify(clean(JSON.parse(value)));
}

async function recordClaudeCode(url: string, version: string): Promise<void> {
  const home = join(folder, "claude");
  const project = join(home, "project");
  mkdirSync(project, { recursive: true });
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: "made-up-token",
    ANTHROPIC_MODEL: "openai/gpt-5.6",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
  const claude = (scene: string, call: Call | null, ...args: string[]): Promise<void> => {
    Object.assign(state, { scene, call });
    return run(join(folder, "node_modules/.bin/claude"), args, { cwd: project, env });
  };
  const bash = { name: "Bash", input: { command: "echo hello", description: "Say hello" } };
  const say = "Run echo hello and tell what it printed";
  await claude("tool round", bash, "-p", say, "--allowedTools", "Bash");
  await claude("compaction", null, "-p", "/compact", "--continue");
  await claude("counting", null, "-p", "/context", "--continue");
  const search = { name: "ToolSearch", input: { query: "select:WebFetch", max_results: 3 } };
  await claude("tool search", search, "-p", "Which tools fetch pages?");
  // The others are alike.
  keepBut("counting", 3, Infinity);
  keep("claude-code", version);
}

/** Leaves out requests of a scene: those `from` a place on, up to another. */
function keepBut(scene: string, from: number, to = from + 1): void {
  const left = new Set(recorded.filter((one) => one.scene === scene).slice(from, to));
  recorded.push(...recorded.splice(0).filter((one) => !left.has(one)));
}

async function recordCodex(url: string, version: string): Promise<void> {
  const home = join(folder, "codex");
  const project = join(home, "project");
  mkdirSync(join(home, ".codex"), { recursive: true });
  mkdirSync(project);
  writeFileSync(
    join(home, ".codex/config.toml"),
    `model_provider = "causey"
[model_providers.causey]
name = "causey"
base_url = "${url}/v1"
env_key = "CAUSEY_TOKEN"
wire_api = "responses"
`,
  );
  const env = { PATH: process.env["PATH"], HOME: home, CAUSEY_TOKEN: "made-up-token" };
  const codex = (scene: string, call: Call | null, ...args: string[]): Promise<void> => {
    Object.assign(state, { scene, call });
    const all = ["exec", ...args, "--skip-git-repo-check"];
    const options = { cwd: project, env: { ...env, CODEX_HOME: join(home, ".codex") } };
    return run(join(folder, "node_modules/.bin/codex"), all, options);
  };
  const free = "--dangerously-bypass-approvals-and-sandbox";
  const command = { name: "exec_command", input: { cmd: "echo hello" } };
  const say = "Run echo hello and tell what it printed";
  const other = ["-m", "anthropic/claude-opus-5-5", "-c", 'web_search="disabled"'];
  await codex("with a web search", command, free, "-m", "openai/gpt-5.5", say);
  await codex("additional tools", null, free, "-m", "openai/gpt-6.1-sol", say);
  await codex("tool round", command, free, ...other, say);
  state.isLong = true;
  await codex("compaction", command, free, ...other, say);
  // The round before the compaction is the one above again.
  keepBut("compaction", 0);
  keep("codex", version);
}

async function installedVersion(name: string): Promise<string> {
  const path = join(folder, "node_modules", name, "package.json");
  const { default: found } = (await import(path, { with: { type: "json" } })) as {
    default: { version: string };
  };
  return found.version;
}

const server = createServer(onRequest);
try {
  writeFileSync(join(folder, "package.json"), '{"private":true}');
  await run("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder });
  // The binary of Claude Code is put in its place by a script of the package.
  const install = "node_modules/@anthropic-ai/claude-code/install.cjs";
  await run(process.execPath, [install], { cwd: folder });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const [claude = "", codex = ""] = await Promise.all(PACKAGES.map(installedVersion));
  await recordClaudeCode(url, claude);
  await recordCodex(url, codex);
  console.log(`Kept the requests of Claude Code ${claude} and Codex ${codex}`);
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
