import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { commandWords } from "../../../adapters/cli/print/completion.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { host } from "../../config/shared.ts";
import { type CommandChild, exitOf, startCommand } from "../runtimes.ts";
import { causeyAll, type Output, seed, serve } from "./run-command.ts";

/** One command, as this test runs it. */
interface Row {
  /** The command line without the options that name a server. */
  readonly args: readonly string[];
  /** `read`: prints JSON with `--json`. `text`: prints what is no data. `change`: is tried with wrong words only. */
  readonly is: "change" | "read" | "text";
  /** Whether it asks a running server. */
  readonly asks: boolean;
}

const folder = join(inject("scratch"), `commands-${crypto.randomUUID()}`);
const data = join(folder, "data");
const page = join(folder, "page.html");
const list = join(folder, "prices.json");

const read = (...args: string[]): Row => ({ args, is: "read", asks: true });
const readAlone = (...args: string[]): Row => ({ args, is: "read", asks: false });
const change = (...args: string[]): Row => ({ args, is: "change", asks: true });
const changeAlone = (...args: string[]): Row => ({ args, is: "change", asks: false });

const rows: readonly Row[] = [
  changeAlone("serve"),
  changeAlone("init", "node"),
  changeAlone("init", "deno"),
  changeAlone("init", "bun"),
  changeAlone("init", "workers"),
  changeAlone("init", "hono"),
  changeAlone("cluster", "status"),
  change("token", "create", "--permission", "AI Gateway Run"),
  read("token", "list"),
  change("token", "revoke", "0123456789abcdef0123456789abcdef"),
  read("console"),
  read("logs"),
  readAlone("prices", "--provider", "openai"),
  readAlone("prices", "check", list),
  read("gateway", "list"),
  read("gateway", "show", "there"),
  change("gateway", "create", "made"),
  change("gateway", "set", "default", "--set", "cache_ttl=5"),
  change("gateway", "delete", "made"),
  read("gateway", "logs", "there"),
  read("search", "list"),
  read("search", "show", "demo"),
  change("search", "create", "made"),
  change("search", "set", "demo", "--set", "chunk_size=512"),
  change("search", "delete", "made"),
  read("search", "items", "demo"),
  change("search", "upload", "demo", page),
  change("search", "sync", "demo", folder),
  read("search", "query", "demo", "master key"),
  read("render", page, "--as", "markdown"),
  read("agents", "list"),
  read("agents", "show", "demo"),
  read("agents", "events", "demo"),
  read("agents", "failures"),
  read("agents", "dead"),
  change("agents", "replay", "demo", "an-id"),
  read("export"),
  change("import", page),
  readAlone("deprecations", "list"),
  read("deprecations", "uses"),
  changeAlone("webhook", "send"),
  readAlone("webhook", "keys", "--scheme", "discord"),
  readAlone("config", "check"),
  readAlone("config", "show"),
  readAlone("doctor", "--port", "0"),
  changeAlone("backup", join(folder, "backup.tar.gz")),
  changeAlone("restore", join(folder, "backup.tar.gz")),
  readAlone("openapi"),
  { args: ["completion", "bash"], is: "text", asks: false },
  { args: ["completion", "zsh"], is: "text", asks: false },
  { args: ["completion", "fish"], is: "text", asks: false },
  { args: ["help"], is: "text", asks: false },
  { args: ["version"], is: "text", asks: false },
];

/** Commands that do something without a word, too. */
const alone: ReadonlySet<string> = new Set(["prices"]);

const named = ({ args }: Row): string => args.slice(0, 2).join(" ").replace(folder, "");
/** The server that all ask; the helpers of other files end theirs after each test. */
let server: CommandChild;
let address = "";
const folderOf = { CAUSEY_DATA_DIR: data };

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(page, "<h1>Hello</h1><p>World</p>");
  writeFileSync(list, "[]");
  await seed(data);
  server = startCommand(host, ["serve", "--port", "0", "--data-dir", data]);
  let text = "";
  server.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  server.stderr.resume();
  await eventually(() => /^Retired .*\n/mu.test(text), "the start lines");
  address = /http:\/\/127\.0\.0\.1:\d+/u.exec(text)?.[0] ?? "";
  await runAll([["gateway", "create", "there", "--url", address]]);
}, LONG.timeout);
afterAll(async () => {
  server.kill("SIGTERM");
  await exitOf(server);
});

function at(row: Row, url: string = address): string[] {
  return [...row.args, ...(row.asks ? ["--url", url] : [])];
}

/** What a failure says: one line, and perhaps what to do. */
const FAILURE = /^error: [^\n]+\n(?:hint: [^\n]+\n)?$/u;

it("the table has every command", () => {
  const all = Object.entries(commandWords).flatMap(([command, { words }]) =>
    words.length === 0
      ? [command]
      : [...(alone.has(command) ? [command] : []), ...words.map((word) => `${command} ${word}`)],
  );
  const here = rows.map(({ args: [command = "", word = ""] }) =>
    (commandWords[command]?.words.length ?? 0) === 0
      ? command
      : `${command} ${word.startsWith("-") ? "" : word}`.trimEnd(),
  );
  expect(here.toSorted()).toEqual(all.toSorted());
});

/** Runs all command lines in one process, beside the server. */
function runAll(lines: readonly (readonly string[])[]): Promise<Output[]> {
  const token = readFileSync(join(data, "token"), "utf8").trim();
  return causeyAll(lines, { CAUSEY_TOKEN: token, CAUSEY_DATA_DIR: data });
}

/** Whether a text is one JSON document, or one a line. */
function isJson(text: string): boolean {
  const parses = (one: string): boolean => {
    try {
      JSON.parse(one);
      return true;
    } catch {
      return false;
    }
  };
  return parses(text) || text.trimEnd().split("\n").every(parses);
}

describe(`commands on ${host}`, () => {
  it("that read print JSON and nothing else", LONG, async () => {
    const reads = rows.filter(({ is }) => is === "read");
    const results = await runAll(reads.map((row) => [...at(row), "--json"]));
    const wrong = reads.flatMap((row, index) => {
      const { out = "", err = "", code } = results[index] ?? {};
      // A list may be empty; of what there is to find fault with, doctor tells by its code.
      const isRight = (code === 0 || row.args[0] === "doctor") && (out === "" || isJson(out));
      return isRight ? [] : [{ command: named(row), out: out.slice(0, 200), err, code }];
    });
    expect(wrong).toEqual([]);
  });

  it("answer a wrong command line with 2 and a line that says why", LONG, async () => {
    const results = await runAll(rows.map((row) => [...at(row), "--no-such-option"]));
    const wrong = rows.flatMap((row, index) => {
      const { out = "", err = "", code } = results[index] ?? {};
      const isRight =
        code === 2 && out === "" && FAILURE.test(err) && err.includes("no-such-option");
      return isRight ? [] : [{ command: named(row), out: out.slice(0, 200), err, code }];
    });
    expect(wrong).toEqual([]);
  });

  it("answer a server that is not there with 1 and a line that says so", LONG, async () => {
    const send = ["webhook", "send", "--scheme", "github", "--secret", "0123456789"];
    const asking = [
      // It reads its file first, which is none.
      ...rows.filter(({ asks, args }) => asks && args[0] !== "import"),
      { args: send, is: "change", asks: true } as const,
    ];
    // Nobody listens there.
    const results = await runAll(asking.map((row) => at(row, "http://127.0.0.1:9")));
    const wrong = asking.flatMap((row, index) => {
      const { out = "", err = "", code } = results[index] ?? {};
      const isRight = code === 1 && out === "" && FAILURE.test(err);
      return isRight ? [] : [{ command: named(row), out: out.slice(0, 200), err, code }];
    });
    expect(wrong).toEqual([]);
  });
});

describe(`Ctrl-C on ${host}`, () => {
  const running: readonly [string, readonly string[], RegExp][] = [
    ["logs -f", ["logs", "-f"], /./u],
    ["search sync --watch", ["search", "sync", "demo", folder, "--watch"], /./u],
  ];
  for (const [name, args, begun] of running)
    it(`ends ${name} with 130`, LONG, async () => {
      const child = startCommand(host, [...args, "--url", address], folderOf);
      let text = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      await eventually(() => begun.test(text), `${name} runs`);
      child.kill("SIGINT");
      // A shell gives 130 for a program that the signal itself ended.
      expect(["SIGINT", 130]).toContain(await exitOf(child));
    });

  it("drains a server, which ends with 0", LONG, async () => {
    const other = await serve(join(folder, "other"), ["--no-demo"]);
    await expect(other.stop("SIGINT")).resolves.toBeUndefined();
  });
});
