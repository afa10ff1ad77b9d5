// Runs a server, whose command line it gets after the folder, on a small file system of its own, fills that, and prints as JSON what the server still does.
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { eventually } from "../cases/eventually.ts";

const [folder = "", command = "", ...args] = process.argv.slice(2);
const shown: Record<string, unknown> = {};
let output = "";

/** Takes all space that is left. */
function fill(): void {
  const file = openSync(join(folder, "fill"), "a");
  try {
    for (;;) writeSync(file, new Uint8Array(4096));
  } catch {
    closeSync(file);
  }
}

async function start(): Promise<[child: ChildProcess, url: string]> {
  output = "";
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  let isOver = false;
  child.once("exit", () => (isOver = true));
  await eventually(() => isOver || /^Retired .*\n/mu.test(output), "the start lines");
  if (isOver) throw new Error(output);
  return [child, /http:\/\/127\.0\.0\.1:\d+/u.exec(output)?.[0] ?? ""];
}

async function kill(one: ChildProcess): Promise<void> {
  const over = new Promise((resolve) => one.once("exit", resolve));
  one.kill("SIGKILL");
  await over;
}

let [child, url] = await start();
const read = (name: string): string => readFileSync(join(folder, name), "utf8").trim();
const bearer = `Bearer ${read("token")}`;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retry: string | null;
}
async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: bearer, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    text: await response.text(),
    retry: response.headers.get("retry-after"),
  };
}
const account = "/client/v4/accounts/local";
const instances = `${account}/ai-search/namespaces/default/instances`;

async function addItem(instance: string, name: string): Promise<string> {
  const form = new FormData();
  form.set("file", new File([`# ${name}\n\nA text about ${name}.`], name));
  form.set("wait_for_completion", "true");
  const path = `${url}${instances}/${instance}/items`;
  const init = { method: "POST", headers: { authorization: bearer }, body: form };
  const response = await fetch(path, init);
  const { result } = (await response.json()) as { result: { id: string } };
  return result.id;
}

async function makeToken(name: string): Promise<string> {
  const groups = await ask("GET", "/client/v4/user/tokens/permission_groups");
  const [group] = (JSON.parse(groups.text) as { result: { id: string }[] }).result;
  const answer = await ask("POST", `${account}/tokens`, {
    name,
    policies: [
      {
        effect: "allow",
        permission_groups: [{ id: group?.id }],
        resources: { "com.cloudflare.api.account.local": "*" },
      },
    ],
  });
  return (JSON.parse(answer.text) as { result: { id: string } }).result.id;
}

async function chat(text: string): Promise<number> {
  const response = await fetch(`${url}/v1/local/default/echo/chat/completions`, {
    method: "POST",
    headers: {
      "cf-aig-authorization": bearer,
      "content-type": "application/json",
      "cf-aig-cache-ttl": "3600",
    },
    body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: text }] }),
  });
  await response.body?.cancel();
  return response.status;
}

async function sendEvent(): Promise<Answer> {
  const body = JSON.stringify({ entity: "full", type: "hello", text: "x".repeat(3000) });
  const signature = createHmac("sha256", read("demo-webhook-secret")).update(body).digest("hex");
  const headers = { "x-signature": `sha256=${signature}`, "content-type": "application/json" };
  const response = await fetch(`${url}/webhooks/demo`, { method: "POST", headers, body });
  return {
    status: response.status,
    text: await response.text(),
    retry: response.headers.get("retry-after"),
  };
}

async function followEvents(): Promise<number> {
  const headers = { authorization: bearer };
  const response = await fetch(`${url}/agents/webhook-agent/full/events?since=0`, { headers });
  await response.body?.cancel();
  return response.status;
}

/** The first refusal of a write: some may still find space that the database has already. */
async function refusal(write: () => Promise<Answer>): Promise<Answer> {
  for (let n = 0; ; n++) {
    const answer = await write();
    if (answer.status !== 200 || n === 200) return answer;
  }
}

/** Writes that no reserve may serve, each as an answer that names the disk or not. */
async function stores(): Promise<unknown> {
  const event = await refusal(sendEvent);
  const instance = await refusal(() =>
    ask("POST", instances, { id: `new-${crypto.randomUUID().slice(0, 8)}` }),
  );
  return [event, instance].map(({ status, text, retry }) => [
    status,
    text.includes("disk"),
    retry !== null,
  ]);
}

const logs = `${account}/ai-gateway/gateways/default/logs`;

await ask("POST", instances, { id: "kept" });
await ask("POST", instances, { id: "gone" });
const items = [await addItem("kept", "one.md"), await addItem("kept", "two.md")];
await addItem("gone", "three.md");
const tokens = [await makeToken("first"), await makeToken("second")];
const events: number[] = [];
for (let n = 0; n < 3; n++) events.push((await sendEvent()).status, await chat(`text ${n}`));
shown["before"] = [...new Set(events)];
await eventually(async () => (await ask("GET", logs)).text.includes('"id"'), "a row of the log");
await eventually(() => existsSync(join(folder, "reserve")), "the space that is kept");

fill();
shown["stores"] = await stores();
shown["reads"] = [
  (await ask("GET", `${instances}/kept/items`)).status,
  (await ask("GET", logs)).status,
  await followEvents(),
];
const remove = async (path: string): Promise<unknown> => {
  const { status, text } = await ask("DELETE", path);
  return status === 200 ? 200 : [status, text];
};
shown["deletes"] = {
  item: await remove(`${instances}/kept/items/${items[0]}`),
  token: await remove(`${account}/tokens/${tokens[0]}`),
  instance: await remove(`${instances}/gone`),
  logs: await remove(logs),
};

await kill(child);
fill();
[child, url] = await start();
shown["restartedReads"] = [
  (await ask("GET", `${instances}/kept/items`)).status,
  (await ask("GET", `${instances}/gone`)).status,
];
shown["restartedStores"] = await stores();
// Somebody frees a little, far less than what is kept.
const filled = join(folder, "fill");
truncateSync(filled, statSync(filled).size - 1024 * 1024);
shown["restartedDeletes"] = {
  item: await remove(`${instances}/kept/items/${items[1]}`),
  token: await remove(`${account}/tokens/${tokens[1]}`),
  gateway: await remove(`${account}/ai-gateway/gateways/default`),
};
rmSync(filled);
await eventually(async () => (await ask("GET", "/readyz")).status === 200, "it is ready again");
shown["after"] = (await sendEvent()).status;
shown["unhandled"] = output.split("\n").filter((line) => line.includes("Unhandled"));
await kill(child);
process.stdout.write(`${JSON.stringify(shown)}\n`);
