import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { host } from "../../config/shared.ts";
import { causey, serve, type Output } from "./run-command.ts";

const fresh = (): string => join(inject("scratch"), `transfer-${crypto.randomUUID()}`);

/** Asks a server's API as its owner. */
async function api(url: string, folder: string, path: string, json: unknown): Promise<unknown> {
  const token = readFileSync(join(folder, "token"), "utf8").trim();
  const response = await fetch(`${url}/client/v4/accounts/local${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(json),
  });
  const body = (await response.json()) as { result: unknown; errors: unknown };
  expect([response.ok, body.errors]).toEqual([true, []]);
  return body.result;
}

const elements = (model: string): object[] => [
  { id: "start", type: "start", outputs: { next: { elementId: "model" } } },
  {
    id: "model",
    type: "model",
    properties: { provider: "openai", model, retries: 1, timeout: 30_000 },
    outputs: { success: { elementId: "end" }, fallback: { elementId: "end" } },
  },
  { id: "end", type: "end", outputs: {} },
];

describe(`causey export and import on ${host}`, () => {
  it("take settings from one server to another, and no secret", LONG, async () => {
    const [from, to] = [fresh(), fresh()];
    const [first, second] = [await serve(from, ["--no-demo"]), await serve(to, ["--no-demo"])];
    const run = (url: string, folder: string, ...args: string[]): Promise<Output> =>
      causey([...args, "--url", url, "--data-dir", folder]);
    await run(first.url, from, "gateway", "create", "team", "--set", "cache_ttl=300");
    const routes = "/ai-gateway/gateways/team/routes";
    await api(first.url, from, routes, { name: "support", elements: elements("gpt-4o") });
    await api(first.url, from, "/ai-gateway/custom-providers", {
      name: "Own",
      slug: "own",
      base_url: "https://models.example.com",
      headers: JSON.stringify({ "x-api-key": "the-secret-of-a-provider" }),
    });
    await api(first.url, from, "/ai-search/namespaces", { name: "docs", description: "Ours" });
    await api(first.url, from, "/ai-search/namespaces/docs/instances", {
      id: "handbook",
      chunk_size: 512,
    });
    const endpoint = (await api(first.url, from, "/webhooks/endpoints", {
      url: "https://hooks.example.com/in",
      types: ["order.*"],
      rate_per_second: 5,
    })) as { secret: string };

    const file = join(from, "settings.json");
    const written = await run(first.url, from, "export", file);
    expect([written.code, written.err]).toEqual([
      0,
      `${file}: 1 gateway, 1 custom provider, 1 search instance, 1 webhook endpoint\n`,
    ]);
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain(endpoint.secret);
    expect(text).not.toContain("the-secret");

    const dry = await run(second.url, to, "import", file, "--dry-run");
    expect(dry.out).toMatch(/^gateway +team +created$/mu);
    const empty = await run(second.url, to, "export", "-");
    expect(JSON.parse(empty.out)).toMatchObject({ gateways: [], webhook_endpoints: [] });

    const made = await run(second.url, to, "import", file);
    expect([made.code, made.err]).toEqual([0, expect.stringMatching(/^Imported 1 gateway,/u)]);
    expect(made.out).toMatch(/^webhook endpoint +https:\S+ +created +whsec_\S+$/mu);
    expect(JSON.parse((await run(second.url, to, "export")).out)).toEqual(JSON.parse(text));

    const changed = JSON.parse(text) as {
      gateways: { settings: { cache_ttl: number }; routes: { elements: unknown }[] }[];
    };
    const [gateway] = changed.gateways;
    if (gateway?.routes[0] === undefined) throw new Error("There is no gateway with a route");
    gateway.settings.cache_ttl = 60;
    gateway.routes[0].elements = elements("gpt-4o-mini");
    writeFileSync(file, JSON.stringify(changed));
    const again = await run(second.url, to, "import", file, "--json");
    const outcomes = again.out.trim().split("\n");
    expect(outcomes.map((line) => (JSON.parse(line) as { outcome: string }).outcome)).toEqual(
      outcomes.map(() => "changed"),
    );
    expect(JSON.parse((await run(second.url, to, "export")).out)).toEqual(changed);
    await Promise.all([first.stop(), second.stop()]);
  });

  it("refuse a file that is none, and tell what the server refuses", LONG, async () => {
    const folder = fresh();
    const server = await serve(folder, ["--no-demo"]);
    const file = join(folder, "bad.json");
    const put = (value: unknown): Promise<Output> => {
      writeFileSync(file, JSON.stringify(value));
      return causey(["import", file, "--url", server.url, "--data-dir", folder]);
    };
    const none = await put({ causey: 2 });
    expect([none.code, none.err]).toEqual([
      2,
      `error: "${file}": causey: expected 1: another version has written this file\n`,
    ]);
    const rest = { custom_providers: [], namespaces: [], webhook_endpoints: [] };
    const settings = (id: string, ttl: unknown): object => ({
      settings: {
        id,
        cache_ttl: ttl,
        cache_invalidate_on_update: false,
        collect_logs: true,
        rate_limiting_interval: null,
        rate_limiting_limit: null,
      },
      routes: [],
    });
    const gateways = [settings("wrong", "often"), settings("right", 0)];
    const some = await put({ causey: 1, ...rest, gateways });
    expect([some.code, some.err]).toEqual([1, "error: 1 of 2 was refused\n"]);
    expect(some.out).toMatch(/^gateway +wrong +refused +The server answered 400: cache_ttl/mu);
    expect(some.out).toMatch(/^gateway +right +created$/mu);
    await server.stop();
  });
});
