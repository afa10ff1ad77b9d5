// The public agents SDK on a local workerd: a Worker that verifies a GitHub event and hands it to the agent of its
// repository, which stores it once and sets its state. Prints its address and the process that does the work.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { build, type Plugin } from "esbuild";
import binary from "workerd";

const peers = join(import.meta.dirname, "../peers");

/** What the SDK's own webhook guide does, with the duplicate check and the state that causey has. */
const worker = `
import { Agent, getAgentByName, routeAgentRequest } from "agents";

export class WebhookAgent extends Agent {
  initialState = { eventCount: 0, lastEvent: null };
  onStart() {
    this.sql\`CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT NOT NULL, action TEXT,
      title TEXT NOT NULL, actor TEXT, payload TEXT, timestamp TEXT NOT NULL)\`;
    this.sql\`CREATE INDEX IF NOT EXISTS events_time ON events (timestamp DESC)\`;
  }
  async onRequest(request) {
    const payload = await request.text();
    const { action, sender } = JSON.parse(payload);
    const id = request.headers.get("x-github-delivery");
    const type = request.headers.get("x-github-event");
    const timestamp = new Date().toISOString();
    const stored = this.sql\`INSERT INTO events (id, type, action, title, actor, payload, timestamp)
      VALUES (\${id}, \${type}, \${action}, \${type}, \${sender.login}, \${payload}, \${timestamp})
      ON CONFLICT (id) DO NOTHING RETURNING id\`;
    if (stored.length === 0) return Response.json({ status: "duplicate" });
    const lastEvent = { id, type, action, title: type, actor: sender.login, timestamp };
    this.setState({ eventCount: this.state.eventCount + 1, lastEvent });
    return Response.json({ status: "processed" });
  }
}

let key;
const importKey = (secret) =>
  crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/agents/"))
      return (await routeAgentRequest(request, env)) ?? new Response(null, { status: 404 });
    const body = await request.arrayBuffer();
    const signature = fromHex((request.headers.get("x-hub-signature-256") ?? "").replace("sha256=", ""));
    key ??= importKey(env.SECRET);
    if (!(await crypto.subtle.verify("HMAC", await key, signature, body)))
      return new Response(null, { status: 401 });
    const { repository } = JSON.parse(new TextDecoder().decode(body));
    const agent = await getAgentByName(env.WebhookAgent, repository.full_name.replace("/", "-").toLowerCase());
    return agent.fetch(new Request(request.url, { method: "POST", headers: request.headers, body }));
  },
};
`;

/** A bare workerd lacks this module, which nothing here uses. */
const noEmail: Plugin = {
  name: "no-email",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^cloudflare:email$/ }, ({ path }) => ({ path, namespace: "no-email" }));
    onLoad({ filter: /./, namespace: "no-email" }, () => ({
      contents: "export class EmailMessage {}",
    }));
  },
};

const folder = mkdtempSync(join(tmpdir(), "causey-bench-sdk-"));
mkdirSync(join(folder, "data"));
await build({
  stdin: { contents: worker, resolveDir: peers, loader: "js" },
  outfile: join(folder, "worker.js"),
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2024",
  conditions: ["workerd", "worker", "browser", "import", "module"],
  mainFields: ["module", "main"],
  external: ["cloudflare:*", "node:*"],
  alias: { path: "node:path" },
  plugins: [noEmail],
  logLevel: "error",
});
const text = JSON.stringify;
writeFileSync(
  join(folder, "config.capnp"),
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "storage", disk = (path = ${text(join(folder, "data"))}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-05-15",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "WebhookAgent", durableObjectNamespace = "WebhookAgent"),
    (name = "SECRET", text = ${text(process.env["BENCH_SECRET"] ?? "")}),
  ],
  durableObjectNamespaces = [(className = "WebhookAgent", uniqueKey = "bench", enableSql = true)],
  durableObjectStorage = (localDisk = "storage")
);
`,
);
const child = spawn(binary.default, ["serve", join(folder, "config.capnp"), "--control-fd=3"], {
  stdio: ["ignore", "inherit", "inherit", "pipe"],
});
const end = (): never => {
  child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
};
process.once("SIGTERM", end).once("SIGINT", end);
child.once("exit", end);

let reports = "";
(child.stdio[3] as Readable).setEncoding("utf8").on("data", (chunk: string) => {
  reports += chunk;
  const port = /"event":"listen","socket":"http","port":(\d+)/u.exec(reports)?.[1];
  if (port === undefined) return;
  reports = "";
  process.stdout.write(`pid ${child.pid} http://127.0.0.1:${port}/\n`);
});
