import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodePlatform } from "../../adapters/node/mod.ts";
import { platformApi, type PlatformApi } from "../../core/api.ts";
import { unpacked } from "../../core/http/built-text.ts";
import { openApi } from "../../core/openapi/document.ts";
import { builtText } from "../../scripts/openapi.ts";
import {
  bodies as jsonSchemas,
  openApiDocument,
  templateOf,
} from "../../scripts/openapi/document.ts";
import { jsonSchemaOf } from "../../scripts/openapi/json-schema.ts";
import { operations } from "../../scripts/openapi/operations.ts";
import { bodySchemas } from "../../scripts/openapi/schemas.ts";
import { bodies, fileOf, resources } from "./sdk-bodies.ts";
import { sdkSamples } from "./sdk-params.ts";
import { unnamed } from "./unnamed-fields.ts";

let app: PlatformApi;
let dataDir: string;
let close: () => Promise<void>;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "causey-openapi-"));
  const platform = await nodePlatform({ dataDir });
  close = () => platform.close();
  app = platformApi({ platform, auth: "off", metrics: true, gateway: { metrics: true } });
});
afterAll(async () => {
  await close();
  await rm(dataDir, { recursive: true, force: true });
});

it("is what its sources give: npm run openapi", async () => {
  // A difference of 400 kB would hide the message.
  expect((await unpacked(openApi)).text === builtText()).toBe(true);
});

it("describes every route, and none that is not there", () => {
  const described = Object.keys(operations).map(templateOf);
  const routes = app.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => templateOf(`${method} ${path}`));
  // These take every method of HTTP, or choose by what the request is.
  const open = /^POST \/v1\/\{|^POST \/webhooks\/|^GET \/agents\/\{class\}\/\{name\}$/;
  expect(new Set(described.filter((key) => !open.test(key)))).toEqual(new Set(routes));
  expect(described.filter((key) => open.test(key))).toHaveLength(6);
});

/** The endpoints of the announced table that have one method. */
const RETIRED = 98;

describe("an endpoint that has ended", () => {
  const paths = Object(openApiDocument()["paths"]) as Record<
    string,
    Record<string, Record<string, unknown>>
  >;
  const retired = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation["deprecated"] === true)
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

  it("says so as oasdiff reads it", () => {
    expect(retired).toHaveLength(RETIRED);
    for (const { operation } of retired) expect(operation["x-sunset"]).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  it("is the only one of its path, whatever the parameters are called", () => {
    const plain = Object.keys(paths).map(nameless);
    expect(new Set(plain).size).toBe(plain.length);
  });

  it("answers 410 with the replacement that its description names", async () => {
    for (const { method, path, operation } of retired) {
      const at = path.replaceAll(/\{\w+\}/g, "x").replace("accounts/x", "accounts/local");
      const answer = await app.request(at, { method });
      expect(answer.status, `${method} ${path}`).toBe(410);
      const use = /Use (.*)\.$/.exec(
        JSON.stringify(operation["responses"]).split('"')[5] ?? "",
      )?.[1];
      expect(await answer.text()).toContain(use === undefined ? "no replacement" : `Use ${use}.`);
    }
  });
});

it("gives every operation an id of its own", () => {
  const ids = JSON.stringify(openApiDocument()).match(/"operationId":"\w+"/g) ?? [];
  expect(ids.length).toBe(Object.keys(operations).length + RETIRED);
  expect(new Set(ids).size).toBe(ids.length);
});

describe("an example passes the schema that checks it", () => {
  const examples = Object.entries(operations).filter(
    ([, { body, example }]) => body !== undefined && example !== undefined,
  );
  it.each(examples)("%s", (_, { body, example }) => {
    if (body === undefined) throw new Error("Filtered above");
    const { success, issues } = v.safeParse<v.GenericSchema>(bodySchemas[body], example);
    expect(issues?.[0]?.message).toBeUndefined();
    expect(success).toBe(true);
  });
});

describe("takes a form where the server does", () => {
  const renderings = Object.entries(operations).filter(
    ([key, { body = "" }]) =>
      /\/browser-rendering\//.test(key) &&
      body.startsWith("Render") &&
      !/\/(?:crawl|map)$/.test(key),
  );
  it.each(renderings)("%s", async (key, { isUpload = false }) => {
    const path = key.replace("POST ", "").replace(":account_id", "local");
    const form = new FormData();
    form.set("files", new File(["<p>"], "other.html"));
    const answer = await app.request(path, { method: "POST", body: form });
    expect(answer.status).toBe(400);
    const said = isUpload ? "files: One of them has to be called" : "Files are taken by";
    expect(await answer.text()).toContain(said);
  });
});

describe("a query parameter is one that the route reads", () => {
  const asked = Object.entries(operations).filter(
    ([key, { query }]) => query !== undefined && key.startsWith("GET "),
  );
  it.each(asked)("%s", async (key, { query = [] }) => {
    const path = key
      .slice("GET ".length)
      .replaceAll(/:\w+(?:\{[^}]*\})?/g, "x")
      .replace("accounts/x", "accounts/local");
    const text = new URLSearchParams(query.map((name) => [name, "1"])).toString();
    const controller = new AbortController();
    const response = await app.request(`${path}?${text}`, { signal: controller.signal });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (isStream) controller.abort();
    else expect(await response.text()).not.toContain("Unknown parameter");
  });
});

/** The calls of the official client in the files of a resource, as `METHOD /path`. */
function sdkCalls(folder: string): string[] {
  const files = readdirSync(new URL(folder, resources), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".js"))
    .flatMap((file) => {
      const source = readFileSync(new URL(`${folder}/${file}`, resources), "utf8");
      const calls =
        /_client\.(get|post|put|patch|delete|getAPIList)\([^`]*`([^`]+)`(?:[^;]*?method: '(\w+)')?/g;
      return [...source.matchAll(calls)].map(([, verb = "", path = "", other]) => {
        const method = verb === "getAPIList" ? (other ?? "get") : verb;
        return `${method.toUpperCase()} ${nameless(path)}`;
      });
    });
}

/** A path whose variables have no names. */
function nameless(path: string): string {
  return path.replaceAll(/\$?\{[^}]*\}/g, "{}");
}

/** What of the official client is not part of causey: docs/compatibility.md. */
const elsewhere = /\/ai-search\/tokens|\/browser-rendering\/devtools|\/ai-gateway\/billing/;

it.each(["ai-gateway", "aisearch", "browser-rendering"])(
  "has every path of the official client's %s",
  (folder) => {
    const described = new Set(
      Object.keys(operations).map((key) => nameless(templateOf(key)).replace("/client/v4", "")),
    );
    const calls = sdkCalls(folder).filter((call) => !elsewhere.test(call));
    expect(calls.length).toBeGreaterThan(7);
    expect(calls.filter((call) => !described.has(call))).toEqual([]);
  },
);

/** Told in the answer, or refused by name: tests/package/sdk-fields.test.ts. */
const unsupported =
  /\.(?:condition(?:\.request_ip.*)?|summarization|summarization_model|system_prompt_\w+|request_ip)$/;

describe("names every field of the official client's bodies", () => {
  it.each(bodies)("%s %s", (file, type, schema) => {
    const [name] = Object.entries(bodySchemas).find(([, one]) => one === schema) ?? [];
    if (name === undefined) throw new Error(`The document has no schema of ${type}`);
    for (const sample of sdkSamples(fileOf(file), type, "body")) {
      const missing = unnamed(sample, jsonSchemas[name]).filter((one) => !unsupported.test(one));
      expect(missing, JSON.stringify(sample)).toEqual([]);
    }
  });
});

it("takes from a pipe what is said last, and nothing of ours", () => {
  const made = jsonSchemaOf(
    v.pipe(v.unknown(), v.object({ a: v.optional(v.pipe(v.string(), v.maxLength(3))) })),
  );
  expect(made).toEqual({
    type: "object",
    properties: { a: { type: "string", maxLength: 3 } },
    required: [],
  });
});
