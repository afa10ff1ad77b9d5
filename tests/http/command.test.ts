import { createHmac, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { causey, type Output } from "../local/command/run-command.ts";
import type { LocalRuntimeName } from "../local/runtimes.ts";
import { webhookSecrets } from "./prepare-target.ts";
import { targetName } from "./target.ts";

const url = inject("baseUrl");
const token = inject("token");
const target = targetName();
// The command runs where the server does; there is none on Workers.
const runtime: LocalRuntimeName = target === "workers" ? "node" : target;
const folder = mkdtempSync(join(tmpdir(), "causey-command-"));
const name = `cmd-${randomUUID().slice(0, 8)}`;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(...args: string[]): Promise<Output> {
  const env = { CAUSEY_TOKEN: token, CAUSEY_ACCOUNT_ID: inject("accountId") };
  return causey([...args, "--url", url], env, runtime);
}

/** What a command that must succeed printed, as JSON lines. */
async function rows(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, out, err } = await run(...args, "--json");
  expect([code, err]).toEqual([0, expect.not.stringContaining("error")]);
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe(`causey gateway against ${target}`, LONG, () => {
  it("makes, changes, lists and deletes gateways", async () => {
    const [made] = await rows("gateway", "create", name, "--set", "cache_ttl=300");
    expect(made).toMatchObject({ id: name, cache_ttl: 300, authentication: true });
    const [changed] = await rows("gateway", "set", name, "--set", "authentication=false");
    expect(changed).toMatchObject({ cache_ttl: 300, authentication: false });
    const { out } = await run("gateway", "list");
    expect(out).toMatch(
      new RegExp(`^ID +AUTHENTICATION .*\\n(?:.*\\n)*${name} +off +on +300 s`, "u"),
    );
    expect((await rows("gateway", "delete", name))[0]).toMatchObject({ id: name });
    const gone = await run("gateway", "show", name);
    expect([gone.code, gone.err]).toEqual([
      1,
      expect.stringContaining("answered 404: There is no"),
    ]);
  });

  it("prints a gateway's requests", async () => {
    const body = JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: name }] });
    const headers = { "content-type": "application/json", authorization: "Bearer sk-any" };
    const path = `/v1/${inject("accountId")}/open/openai/chat/completions`;
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body });
    await response.body?.cancel();
    const id = response.headers.get("cf-aig-log-id");
    let found: Record<string, unknown>[] = [];
    for (; !found.some((row) => row["id"] === id); found = await rows("gateway", "logs", "open"));
    const { out } = await run("gateway", "logs", "open", "--limit", "1");
    expect(out.trim().split("\n")).toHaveLength(2);
  });

  it("says what is wrong before it asks, and what the server says", async () => {
    for (const [args, message] of [
      [["lst"], 'Unknown command "gateway lst": did you mean "list"?'],
      [["show"], "gateway show needs the id of one gateway"],
      [["create", "x", "--set", "cache_ttl"], '--set: expected NAME=VALUE, got "cache_ttl"'],
      [["logs", "x", "--limit", "0"], '--limit: expected 1 to 1000, got "0"'],
    ] as const) {
      const { code, err } = await run("gateway", ...args);
      expect([code, err]).toEqual([2, `error: ${message}\n`]);
    }
    const wrong = await run("gateway", "create", name, "--set", "cache_ttl=often");
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("cache_ttl")]);
    const stranger = await causey(
      ["gateway", "list", "--url", url],
      { CAUSEY_TOKEN: "no" },
      runtime,
    );
    expect([stranger.code, stranger.err]).toEqual([
      1,
      expect.stringMatching(/^error: .* does not take this token: .*\nhint: /u),
    ]);
  });
});

describe(`causey search against ${target}`, LONG, () => {
  it("uploads folders, waits until they are indexed, and answers", async () => {
    const notes = join(folder, "notes");
    mkdirSync(join(notes, "deep"), { recursive: true });
    writeFileSync(join(notes, "ferry.md"), "# Ferry\n\nThe ferry leaves at noon and takes cars.");
    writeFileSync(join(notes, "deep", "bread.md"), "# Bread\n\nKnead the dough for ten minutes.");
    writeFileSync(join(notes, ".hidden.md"), "Nobody is to see this.");
    await rows("search", "create", name, "--set", "chunk_size=128");
    const sent = await run("search", "upload", name, notes, "--wait");
    expect([sent.code, sent.out]).toEqual([0, ""]);
    expect(sent.err).toContain("Uploaded 2 of 2 files\n");
    expect(sent.err).toMatch(/Indexed: 2 items, 0 failed\n$/u);
    const items = await rows("search", "items", name);
    expect(new Map(items.map((item) => [item["key"], item["status"]]))).toEqual(
      new Map([
        ["deep/bread.md", "completed"],
        ["ferry.md", "completed"],
      ]),
    );
    const { out } = await run("search", "query", name, "when does", "the ferry leave?");
    expect(out).toMatch(/^\d\.\d{3} {2}ferry\.md\n/u);
    const [shown] = await rows("search", "show", name);
    expect(shown).toMatchObject({ chunk_size: 128, stats: { completed: 2 } });
    expect((await run("search", "list")).out).toContain(name);
    expect((await run("search", "delete", name)).code).toBe(0);
  });

  it("tells which files were not taken, and sends the others", async () => {
    const mixed = join(folder, "mixed");
    mkdirSync(mixed, { recursive: true });
    writeFileSync(join(mixed, "good.md"), "# Good");
    writeFileSync(join(mixed, `${"n".repeat(140)}.md`), "Its name is too long.");
    const other = `${name}-x`;
    await rows("search", "create", other);
    const { code, err } = await run("search", "upload", other, mixed);
    expect([code, err]).toEqual([1, expect.stringContaining("Uploaded 1 of 2 files\n")]);
    expect(err).toMatch(/^ {2}n+\.md: The server answered 4\d\d: .*name/mu);
    expect(err).toContain("error: 1 of 2 files was not taken\n");
    const nowhere = await run("search", "upload", other, join(folder, "nothing-here"));
    expect(nowhere.err).toMatch(/^error: There is no file or folder ".*"\nhint: /u);
    await run("search", "delete", other);
  });
});

describe(`causey render against ${target}`, LONG, () => {
  const page = join(folder, "page.html");
  writeFileSync(page, '<title>T</title><h1>Hello</h1><a href="https://example.com/a">a</a>');

  it("writes what the name of the file says", async () => {
    for (const [file, magic] of [
      ["page.pdf", "%PDF-"],
      ["page.png", "\u0089PNG"],
    ] as const) {
      const out = join(folder, file);
      const { code, err } = await run("render", page, "-o", out);
      expect([code, err]).toEqual([0, expect.stringMatching(/^.*: [\d.]+ k?B in [\d.]+ s\n$/u)]);
      expect(readFileSync(out).toString("latin1").slice(0, magic.length)).toBe(magic);
    }
  });

  it("prints text, and passes fields of the API on", async () => {
    expect((await run("render", page)).out).toContain("# Hello\n");
    expect((await run("render", page, "--as", "links")).out).toBe("https://example.com/a\n");
    const wrong = await run("render", page, "--set", "viewport=3");
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("viewport")]);
    const form = await run("render", page, "--as", "pfd");
    expect([form.code, form.err]).toEqual([
      2,
      'error: --as: there is no form "pfd": did you mean "pdf"?\n',
    ]);
    expect((await run("render", page, "--as", "pdf", "--json")).err).toContain("needs -o FILE");
  });
});

describe(`causey agents against ${target}`, LONG, () => {
  it("shows what webhooks fed, and says why an event cannot be handed over again", async () => {
    const body = JSON.stringify({ entity: name, event_id: "e1", type: "ping" });
    const signature = createHmac("sha256", webhookSecrets.generic).update(body).digest("hex");
    const headers = { "x-signature": `sha256=${signature}` };
    await fetch(`${url}/webhooks/generic`, { method: "POST", body, headers });
    const [event] = await rows("agents", "events", name);
    expect(event).toMatchObject({ source: "generic", id: "e1" });
    let listed: Record<string, unknown>[] = [];
    for (; !listed.some((one) => one["entity"] === name); listed = await rows("agents", "list"));
    expect((await rows("agents", "show", name))[0]).toHaveProperty("state");
    expect((await run("agents", "dead", name)).out).toMatch(/^ENTITY /u);
    // The built-in agent only keeps events.
    const again = await run("agents", "replay", name, "e1");
    expect([again.code, again.err]).toEqual([1, expect.stringContaining("answered 409: ")]);
    expect((await run("agents", "show")).err).toBe(
      "error: agents show needs the name of an entity\n",
    );
  });
});

describe(`causey deprecations against ${target}`, LONG, () => {
  it("prints the table, with and without a server, and who still uses it", async () => {
    const [own, served] = [
      await causey(["deprecations", "list", "--json"], {}, runtime),
      await run("deprecations", "list", "--json"),
    ];
    expect(own.out.split("\n").length).toBeGreaterThan(20);
    const ids = (text: string): unknown[] =>
      text
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(ids(own.out)).toEqual(ids(served.out));
    const retired = await run("deprecations", "list", "--phase", "retired");
    expect(retired.out.trim().split("\n").length).toBeLessThan(ids(own.out).length);
    expect((await run("deprecations", "uses")).out).toMatch(/^ENTRY +TOKEN +CLIENT +USES/u);
    expect((await run("deprecations", "list", "--phase", "gone")).code).toBe(2);
  });
});
