import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { ACCOUNT, type Call, type Caller, documented, type Result } from "./documented.ts";
import { callGateways, callKeptRecords } from "./documented-gateways.ts";
import { startTarget, type Target } from "./target.ts";

const api = documented();
const seen = new Set<string>();
const token = "token-of-the-documented-answers-000000";
const secret = "secret-of-the-documented-answers-0000";
let target: Target;
let site: Server;
let siteUrl: string;
let folder: string;

async function answerOf(
  operation: string,
  { path = {}, query = {}, body, mayRefuse, token: own = token }: Call,
): Promise<unknown> {
  const [method = "", template = ""] = operation.split(" ");
  const names: Readonly<Record<string, string>> = { account_id: "local", ...path };
  const at = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? name);
  const isForm = body instanceof FormData;
  const text = body === undefined || isForm ? "" : JSON.stringify(body);
  const response = await fetch(`${target.url}${at}?${new URLSearchParams(query).toString()}`, {
    method,
    headers: {
      authorization: `Bearer ${own}`,
      "x-signature": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
      ...(isForm ? {} : { "content-type": "application/json" }),
    },
    body: isForm ? body : text === "" ? null : text,
  });
  const answer = (await response.json()) as { readonly result?: unknown };
  seen.add(operation);
  if (response.status !== mayRefuse)
    expect(api.problem(operation, response.status, answer)).toBe("");
  return answer.result ?? answer;
}

// `as`: the description has just said what they are.
const call: Caller = Object.assign(
  async (operation: string, how: Call = {}) => (await answerOf(operation, how)) as Result,
  {
    list: async (operation: string, how: Call = {}) =>
      (await answerOf(operation, how)) as readonly Result[],
    text: async (operation: string, how: Call = {}) => (await answerOf(operation, how)) as string,
  },
);

beforeAll(async () => {
  site = createServer((request, response) => {
    const isModel = request.url?.includes("completions") === true;
    const choices = [
      {
        index: 0,
        message: { role: "assistant", content: '{"title":"Home"}' },
        finish_reason: "stop",
      },
    ];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const answer = { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage };
    request.resume();
    response.setHeader("content-type", isModel ? "application/json" : "text/html");
    response.end(
      isModel
        ? JSON.stringify(answer)
        : '<title>Home</title><h1 id="top">Home</h1><a href="/more">More</a>',
    );
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), "causey-documented-"));
  const { host } = new URL(siteUrl);
  const entity = { from: "payload", path: "entity" };
  const config = join(folder, "causey.json");
  writeFileSync(
    config,
    JSON.stringify({
      gateway: { providers: { openai: { baseUrl: `${siteUrl}/v1`, apiKey: "sk-any" } } },
      rendering: { allowHosts: [host], chatModel: { baseUrl: `${siteUrl}/v1`, model: "m" } },
      webhooks: { allowHosts: [host], sources: { generic: { scheme: "generic", secret, entity } } },
    }),
  );
  target = await startTarget({ args: ["--config", config], env: { CAUSEY_TOKEN: token } });
});

afterAll(async () => {
  await target?.stop();
  site?.closeAllConnections();
  site?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("an answer is what the description says", () => {
  it.each(["/client/v4/user/tokens", `${ACCOUNT}/tokens`])("%s", async (root) => {
    const [group] = await call.list(`GET ${root}/permission_groups`);
    const policies = [
      {
        effect: "allow",
        permission_groups: [{ id: group?.["id"] }],
        resources: { "com.cloudflare.api.account.local": "*" },
      },
    ];
    const body = { name: "documented", policies, expires_on: "2099-01-01T00:00:00Z" };
    const { id = "" } = await call(`POST ${root}`, { body });
    const path = { token_id: id };
    await call(`GET ${root}`);
    await call(`GET ${root}/verify`);
    await call(`GET ${root}/{token_id}`, { path });
    await call(`PUT ${root}/{token_id}`, { path, body });
    await call(`PUT ${root}/{token_id}/value`, { path });
    await call(`DELETE ${root}/{token_id}`, { path });
  });

  it("of the platform", async () => {
    await call("GET /client/v4/accounts");
    await call(`GET ${ACCOUNT}`);
    await call("GET /client/v4/deprecations");
    await call("GET /client/v4/deprecations/{id}", { path: { id: "setting-minify.01" } });
    await fetch(`${target.url}/client/v4/accounts/local/devices`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await call(`GET ${ACCOUNT}/deprecations/uses`);
    const settings = "/client/v4/deprecations/settings";
    await call(`PUT ${settings}/{id}`, { path: { id: "tunnels" }, body: { pause: true } });
    await call(`GET ${settings}`);
    await call(`DELETE ${settings}/{id}`, { path: { id: "tunnels" } });
    await call("GET /healthz");
    await call("GET /readyz");
    await call("POST /agents/{class}/{name}/ticket", {
      path: { class: "webhook-agent", name: "documented" },
    });
  });

  it("of gateways, their log and what it is evaluated by", () => callGateways(call, siteUrl));

  it("of what gateways and accounts keep", () => callKeptRecords(call));

  it.each(["", "/namespaces/{name}"])("of search%s", async (within) => {
    const root = `${ACCOUNT}/ai-search${within}/instances`;
    const id = within === "" ? "alone" : "grouped";
    const path = { id, name: "documented" };
    const spaces = `${ACCOUNT}/ai-search/namespaces`;
    if (within !== "") {
      await call(`POST ${spaces}`, { body: { name: "documented", description: "a" } });
      await call(`GET ${spaces}`);
      await call(`GET ${spaces}/{name}`, { path });
      await call(`PUT ${spaces}/{name}`, { path, body: { description: "b" } });
    }
    const boost_by = [{ field: "timestamp", direction: "desc" }];
    const settings = {
      retrieval_options: { boost_by, query_operators: true },
      metadata: { a: 1 },
      synonyms: { ferry: ["boat"] },
      typo_tolerance: { enabled: true },
    };
    await call(`POST ${root}`, { path, body: { id, ...settings } });
    await call(`GET ${root}`, { path });
    await call(`PUT ${root}/{id}`, { path, body: { chunk_size: 512 } });
    const open = { enabled: true, requests_without_origin: true };
    const { public_endpoint_id: endpoint = "" } = await call(`PUT ${root}/{id}`, {
      path,
      body: { public_endpoint_params: open },
    });
    await call(`GET ${root}/{id}`, { path });
    const form = new FormData();
    form.set("file", new File(["# Timetable\n\nThe ferry leaves at noon."], "ferry.md"));
    form.set("metadata", JSON.stringify({ line: "north" }));
    form.set("wait_for_completion", "true");
    const item = await call(`POST ${root}/{id}/items`, { path, body: form });
    const one = { ...path, item_id: item["id"] ?? "" };
    const again = { next_action: "INDEX", wait_for_completion: true };
    await call(`PUT ${root}/{id}/items`, { path, body: { key: "ferry.md", ...again } });
    await call(`GET ${root}/{id}/items`, { path });
    await call(`GET ${root}/{id}/items/{item_id}`, { path: one });
    await call(`PATCH ${root}/{id}/items/{item_id}`, { path: one, body: again });
    await call(`GET ${root}/{id}/items/{item_id}/chunks`, { path: one });
    await call(`GET ${root}/{id}/items/{item_id}/logs`, { path: one });
    await call(`GET ${root}/{id}/stats`, { path });
    const messages = [{ role: "user", content: "When does the ferry leave?" }];
    const retrieval = {
      facets: ["folder", "timestamp"],
      attributes_to_highlight: ["text"],
      show_matches_position: true,
    };
    const body = { messages, ai_search_options: { retrieval } };
    await call(`POST ${root}/{id}/search`, { path, body });
    await call(`POST ${root}/{id}/chat/completions`, { path, body: { messages } });
    const click = { query: "When does the ferry leave?" };
    await call(`POST ${root}/{id}/clicks`, { path, body: click });
    await call(`GET ${root}/{id}/questions`, { path });
    await call(`DELETE ${root}/{id}/questions`, { path });
    const visited = { endpoint_id: endpoint };
    await call("POST /ai-search/{endpoint_id}/clicks", { path: visited, body: click });
    await call("POST /ai-search/{endpoint_id}/search", { path: visited, body: { messages } });
    const chat = "POST /ai-search/{endpoint_id}/chat/completions";
    await call(chat, { path: visited, body: { messages } });
    if (within !== "") {
      const across = { messages, ai_search_options: { instance_ids: [id, "missing"] } };
      await call(`POST ${spaces}/{name}/search`, { path, body: across });
      await call(`POST ${spaces}/{name}/chat/completions`, { path, body: across });
    }
    const job = await call(`POST ${root}/{id}/jobs`, { path, body: { description: "again" } });
    const running = { ...path, job_id: job["id"] ?? "" };
    // It may have ended before.
    const cancel = { path: running, body: { action: "cancel" }, mayRefuse: 400 };
    await call(`PATCH ${root}/{id}/jobs/{job_id}`, cancel);
    await call(`GET ${root}/{id}/jobs`, { path });
    await call(`GET ${root}/{id}/jobs/{job_id}/logs`, { path: running });
    await call(`GET ${root}/{id}/jobs/{job_id}`, { path: running });
    await call(`DELETE ${root}/{id}/items/{item_id}`, { path: one });
    await call(`DELETE ${root}/{id}`, { path });
    if (within !== "") await call(`DELETE ${spaces}/{name}`, { path });
  });

  it("of the credentials of buckets", async () => {
    const root = `${ACCOUNT}/ai-search/tokens`;
    const body = { name: "documented", cf_api_id: "AKIA", cf_api_key: "key" };
    const { id = "" } = await call(`POST ${root}`, { body });
    await call(`GET ${root}`);
    await call(`GET ${root}/{token_id}`, { path: { token_id: id } });
    await call(`PUT ${root}/{token_id}`, { path: { token_id: id }, body });
    await call(`DELETE ${root}/{token_id}`, { path: { token_id: id } });
  });

  it.each(["browser-rendering", "browser-run"])("of %s", async (name) => {
    const root = `${ACCOUNT}/${name}`;
    const html = '<title>Home</title><h1 id="top">Home</h1><a href="/more">More</a>';
    const page = { html, url: siteUrl, render: false };
    await call(`POST ${root}/markdown`, { body: page });
    await call(`POST ${root}/content`, { body: { url: siteUrl, render: false } });
    await call(`POST ${root}/links`, { body: page });
    await call(`POST ${root}/scrape`, { body: { ...page, elements: [{ selector: "h1" }] } });
    await call(`POST ${root}/json`, { body: { ...page, prompt: "The title" } });
    if (await hasBrowser()) {
      const rendered = { html };
      const formats = ["content", "markdown", "screenshot", "accessibilityTree"];
      await call(`POST ${root}/snapshot`, { body: { ...rendered, formats } });
      await call(`POST ${root}/accessibilityTree`, { body: rendered });
      await call(`POST ${root}/scrape`, { body: { ...rendered, elements: [{ selector: "h1" }] } });
      await call(`POST ${root}/content`, { body: { url: siteUrl } });
    }
    await call(`POST ${root}/map`, { body: { url: siteUrl } });
    const crawl = { url: siteUrl, render: false, formats: ["markdown", "html"] };
    const path = { job_id: await call.text(`POST ${root}/crawl`, { body: crawl }) };
    await eventually(async () => {
      const { status } = await call(`GET ${root}/crawl/{job_id}`, { path });
      return status !== "running";
    }, "the end of the crawl");
    await call(`GET ${root}/crawl`, { query: { limit: "1" } });
    await call(`DELETE ${root}/crawl/{job_id}`, { path });
  });

  it("of webhooks that come", async () => {
    const root = `${ACCOUNT}/webhooks`;
    const query = { entity: "documented", source: "generic" };
    const body = { id: "e1", type: "made", entity: "documented", title: "A" };
    const path = { provider: "generic", entity_id: "documented" };
    await call("POST /webhooks/{provider}", { path, body });
    await call("POST /webhooks/{provider}", { path, body });
    await call("POST /webhooks/{provider}/{entity_id}", { path, body: { ...body, id: "e2" } });
    await call(`GET ${root}/sources`);
    const named = { path: { name: "made" } };
    const given = { scheme: "generic", secret: "a secret of the test" };
    await call(`POST ${root}/sources`, { body: { name: "made", ...given } });
    await call(`GET ${root}/sources/{name}`, named);
    await call(`PUT ${root}/sources/{name}`, { ...named, body: { scheme: "generic" } });
    await call(`POST ${root}/sources/{name}/rotate`, { ...named, body: { secret: "another one" } });
    await call(`DELETE ${root}/sources/{name}`, named);
    await eventually(async () => {
      const entities = await call.list(`GET ${root}/entities`);
      return entities.length > 0;
    }, "the entity in the list");
    await call(`GET ${root}/entities/state`, { query });
    await call(`GET ${root}/events`, { query });
    await call(`GET ${root}/failures`);
    await call(`GET ${root}/dead-letters`);
    await call(`GET ${root}/dead-letters`, { query });
    const replay = await call(`POST ${root}/replays`, { body: { of: "events", ...query } });
    await call(`GET ${root}/replays`);
    await call(`GET ${root}/replays/{id}`, { path: { id: replay["id"] ?? "" } });
    await call(`POST ${root}/replays/{id}/cancel`, { path: { id: replay["id"] ?? "" } });
  });

  it("of webhooks that go out", async () => {
    await sendsOut(`${ACCOUNT}/webhooks`, {});
  });

  it("of webhooks that go out for an application", async () => {
    const root = `${ACCOUNT}/webhooks/applications`;
    const one = { application_id: "documented" };
    await call(`POST ${root}`, { body: { id: one.application_id, name: "A customer" } });
    await call(`GET ${root}`);
    await call(`GET ${root}/{application_id}`, { path: one });
    await call(`PATCH ${root}/{application_id}`, { path: one, body: { max_endpoints: 2 } });
    await sendsOut(`${root}/{application_id}`, one);
    const link = `${root}/{application_id}/portal`;
    const { token: linked = "" } = await call(`POST ${link}`, { path: one });
    await atPortal(linked);
    await call(`DELETE ${link}`, { path: one });
    await call(`DELETE ${root}/{application_id}`, { path: one });
  });

  async function atPortal(linked: string): Promise<void> {
    const own = { token: linked };
    const root = "/client/v4/webhook-portal";
    await call(`GET ${root}`, own);
    const body = { url: `${siteUrl}/hook`, types: ["order.*"] };
    const { id = "" } = await call(`POST ${root}/endpoints`, { ...own, body });
    const path = { id };
    await call(`GET ${root}/endpoints`, own);
    await call(`GET ${root}/endpoints/{id}`, { ...own, path });
    await call(`PATCH ${root}/endpoints/{id}`, { ...own, path, body: { description: "a" } });
    await call(`POST ${root}/endpoints/{id}/rotate`, { ...own, path });
    await call(`POST ${root}/endpoints/{id}/test`, { ...own, path });
    let sent = "";
    await eventually(async () => {
      const list = await call.list(`GET ${root}/deliveries`, own);
      const delivery = list.find((one) => one["endpoint_id"] === id);
      sent = delivery?.["id"] ?? "";
      return delivery?.["status"] === "delivered";
    }, "the delivery of the test");
    await call(`GET ${root}/deliveries/{id}`, { ...own, path: { id: sent } });
    await call(`POST ${root}/deliveries/{id}/replay`, { ...own, path: { id: sent } });
    await call(`POST ${root}/deliveries/replay`, { ...own, body: { status: "delivered" } });
    await call(`GET ${root}/stats/topics`, own);
    await call(`DELETE ${root}/endpoints/{id}`, { ...own, path });
  }

  async function sendsOut(root: string, owner: Readonly<Record<string, string>>): Promise<void> {
    const endpoint = { url: `${siteUrl}/hook`, types: ["order.*"] };
    const { id = "" } = await call(`POST ${root}/endpoints`, { path: owner, body: endpoint });
    const path = { ...owner, id };
    await call(`GET ${root}/endpoints`, { path });
    await call(`GET ${root}/endpoints/{id}`, { path });
    await call(`PATCH ${root}/endpoints/{id}`, { path, body: { description: "a" } });
    await call(`POST ${root}/endpoints/{id}/rotate`, { path });
    const message = { type: "order.paid", payload: { id: 7 }, entity: "7" };
    await call(`POST ${root}/send`, { path, body: message });
    let sent = path;
    await eventually(async () => {
      const [delivery] = await call.list(`GET ${root}/deliveries`, { path });
      sent = { ...owner, id: delivery?.["id"] ?? "" };
      return delivery?.["status"] === "delivered";
    }, "the delivery");
    await call(`GET ${root}/deliveries/{id}`, { path: sent });
    await call(`POST ${root}/deliveries/{id}/replay`, { path: sent });
    await call(`POST ${root}/deliveries/replay`, { path, body: { status: "delivered" } });
    await call(`GET ${root}/stats`, { path });
    await call(`GET ${root}/stats/topics`, { path });
    await call(`POST ${root}/endpoints/{id}/test`, { path });
    await call(`DELETE ${root}/endpoints/{id}`, { path });
  }

  it("of every operation that has ended", async () => {
    expect(api.ended.length).toBeGreaterThan(90);
    for (const operation of api.ended)
      await call(operation, operation.startsWith("GET") ? {} : { body: {} });
  });

  it("of every operation that answers JSON", async () => {
    // A replay needs an agent with a handler, which no configuration file can name.
    const elsewhere = (await hasBrowser())
      ? /(?:events|dead-letters)\/\{id\}\/replay$/
      : /(?:events|dead-letters)\/\{id\}\/replay$|\/(?:snapshot|accessibilityTree)$/;
    const missing = api.operations.filter((one) => !seen.has(one) && !elsewhere.test(one));
    expect(missing).toEqual([]);
  });
});

async function hasBrowser(): Promise<boolean> {
  const { parts } = (await (await fetch(`${target.url}/readyz`)).json()) as {
    parts: { rendering: { status: string } };
  };
  return parts.rendering.status === "ready";
}
