import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { commandFile } from "../config/command-file.ts";
import { itUnless } from "../config/it-unless.ts";
import { noBrowser, startTarget, targetName, type Target, type TargetOptions } from "./target.ts";

/** What a server has to say of one part. */
interface Row {
  readonly reason: string;
  /** Why it cannot occur on a runtime. @default it can on each */
  readonly never?: Partial<Record<ReturnType<typeof targetName>, string>>;
  readonly options: TargetOptions;
  /** Brings it about. @default the start does */
  readonly provoke?: (server: Target) => Promise<void>;
  readonly part: "server" | "database" | "rendering" | "search";
  readonly told: Readonly<Record<string, unknown>>;
  /** @default 200: the other parts serve */
  readonly status?: number;
}

const target = targetName();
const token = "token-of-these-tests-0123456789";
const folder = mkdtempSync(join(tmpdir(), "causey-ready-"));
const servers: Target[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

/** A folder with a program that finds no font. */
function withoutFonts(): string {
  mkdirSync(join(folder, "no-fonts"));
  script("no-fonts/fc-list", "#!/bin/sh\nexit 0\n");
  return `${join(folder, "no-fonts")}:${process.env["PATH"]}`;
}

function config(name: string, content: unknown): string[] {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return ["--config", path];
}

async function post(server: Target, path: string, body: unknown): Promise<number> {
  const response = await fetch(`${server.url}/client/v4/accounts/local${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await response.body?.cancel();
  return response.status;
}

const broken = script("broken", "#!/nowhere/interpreter\n");
// Nobody listens there.
const nowhere = { baseUrl: "http://127.0.0.1:9/v1", model: "down" };
const render = async (server: Target): Promise<void> => {
  expect(await post(server, "/browser-rendering/content", { html: "<script></script>" })).toBe(503);
};

const rows: readonly Row[] = [
  {
    reason: "nothing is wrong",
    options: { env: noBrowser },
    part: "database",
    told: { status: "ready" },
  },
  {
    reason: "there is no browser",
    options: { env: { CAUSEY_CHROMIUM_PATH: "/nowhere/chromium" } },
    part: "rendering",
    told: { status: "unavailable", reason: expect.stringMatching(/^No browser/u) },
  },
  {
    reason: "the browser does not start",
    options: { env: { CAUSEY_CHROMIUM_PATH: broken } },
    provoke: render,
    part: "rendering",
    told: { status: "failing", reason: expect.stringMatching(/browser/iu) },
  },
  {
    reason: "Deno may not start a browser",
    never: {
      node: "Node asks for no permission",
      bun: "Bun asks for no permission",
      workers: "The browser of Workers is a binding",
    },
    options: {
      command: [
        "tools/node_modules/deno/deno",
        "run",
        "--no-prompt",
        "--allow-read",
        "--allow-write",
        "--allow-net",
        "--allow-env",
        "--allow-sys",
        "--allow-ffi",
        commandFile,
        "serve",
      ],
      env: noBrowser,
    },
    part: "rendering",
    told: { status: "unavailable", reason: expect.stringContaining("--allow-run=") },
  },
  {
    reason: "the machine has no fonts",
    never: { workers: "A binding does not tell of its fonts" },
    options: { env: { ...noBrowser, PATH: withoutFonts() } },
    part: "rendering",
    told: { status: "ready", detail: expect.stringContaining("The system has no fonts") },
  },
  {
    reason: "the embedder of the search fails",
    options: {
      env: noBrowser,
      args: [
        "--no-demo",
        ...config("search.json", { search: { embedder: { ...nowhere, dimensions: 3 } } }),
      ],
    },
    provoke: async (server) => {
      expect(await post(server, "/ai-search/instances", { id: "docs" })).toBeLessThan(300);
      await post(server, "/ai-search/instances/docs/search", { query: "hello" });
    },
    part: "search",
    told: { status: "failing", reason: expect.stringContaining('embedder "down"') },
  },
  {
    reason: "the chat model of the rendering fails",
    options: { args: config("rendering.json", { rendering: { chatModel: nowhere } }) },
    provoke: async (server) => {
      const body = { html: "<p>Hello</p>", prompt: "What does it say?" };
      expect(await post(server, "/browser-rendering/json", body)).toBeGreaterThan(400);
    },
    part: "rendering",
    told: { status: "failing", reason: expect.stringContaining('chat model "down"') },
  },
];

describe(`/readyz on ${target}`, () => {
  for (const { reason, never, options, provoke, part, told, status = 200 } of rows) {
    itUnless(never?.[target])(`says that ${reason}`, LONG, async () => {
      const env = { CAUSEY_TOKEN: token, ...options.env };
      const server = await startTarget({ ...options, env });
      servers.push(server);
      await provoke?.(server);
      let body: { parts: Record<string, unknown> } = { parts: {} };
      await eventually(
        async () => {
          const response = await fetch(`${server.url}/readyz`);
          expect(response.status).toBe(status);
          body = (await response.json()) as typeof body;
          return expect.objectContaining(told).asymmetricMatch(body.parts[part]);
        },
        () => `"${reason}": ${JSON.stringify(body)}`,
      );
      // What fails in one part is told of that part alone.
      const others = Object.entries(body.parts).filter(
        ([name]) => name !== part && name !== "rendering",
      );
      for (const [, health] of others) expect(health).toEqual({ status: "ready" });
    });
  }
});
