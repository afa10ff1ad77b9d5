import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../core/config/parse-config.ts";
import { eventually } from "../cases/eventually.ts";
import { lendBrowser } from "../platform/shared-browser.ts";
import { startTarget, type Target } from "./target.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const start = readFileSync(join(root, "docs/start.md"), "utf8");
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gmu)]
    .filter((one) => one[1] === language)
    .map((one) => one[2] ?? "");

/** A command of a `console` block and what it prints; `…` in the output stands for anything. */
interface Shown {
  readonly command: string;
  readonly output: string;
}

function shown(block: string): Shown[] {
  return block
    .split(/^\$ /mu)
    .slice(1)
    .map((part) => {
      const [, command = "", output = ""] = /^((?:.*\\\n)*.*)\n?([\s\S]*)$/u.exec(part) ?? [];
      return { command, output: output.trimEnd() };
    });
}

function matches(output: string, pattern: string): boolean {
  const source = pattern.split("…").map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"));
  return new RegExp(`^${source.join("[\\s\\S]*?")}$`, "u").test(output);
}

describe("README and the guide to start with", () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-readme-"));
  let target: Target;

  beforeAll(async () => {
    const dataDir = join(folder, ".causey");
    await lendBrowser(dataDir);
    target = await startTarget({ dataDir, demo: true, env: { CAUSEY_TOKEN: "" } });
  });
  afterAll(async () => {
    await target.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const setUp = blocks(readme, "sh")[1] ?? "";
  const here = (text: string): string => text.replaceAll("http://127.0.0.1:8787", target.url);

  const examples = [readme, start].flatMap((page) => blocks(page, "console"));
  it.each(examples.map((block) => [block.split("\n")[0] ?? "", block]))(
    "%s ... prints what the page says",
    async (_, block) => {
      let before = here(setUp);
      for (const { command, output } of shown(block)) {
        let printed = "";
        const printsIt = (): boolean => {
          const script = `${before}\n${here(command)}`;
          const { stdout, stderr } = spawnSync("bash", ["-c", script], {
            cwd: folder,
            encoding: "utf8",
          });
          printed = `${stdout}${stderr}`;
          return matches(stdout.trimEnd(), output);
        };
        // Rows of the log are written after the answer, so what only reads may be a moment early.
        if (command.startsWith('curl -s "'))
          await eventually(printsIt, `${command} prints ${output}`);
        else expect(printsIt(), `${command}\nprinted ${printed}\ninstead of ${output}`).toBe(true);
        // Variables that a command sets hold for the next ones.
        if (/^[A-Z]+=/u.test(command)) before += `\n${here(command)}`;
      }
    },
  );

  it.each(["node/server", "deno/main", "bun/server", "workers/main", "embed/server"])(
    "shows examples/%s.ts as it is",
    (name) => {
      expect(blocks(readme, "ts")).toContain(
        readFileSync(join(root, "examples", `${name}.ts`), "utf8"),
      );
    },
  );

  it("shows the Wrangler configuration of the Workers example as it is", () => {
    const path = "examples/workers/wrangler.jsonc";
    expect(blocks(readme, "jsonc")).toEqual([
      `// ${path}\n${readFileSync(join(root, path), "utf8")}`,
    ]);
  });

  it("has a configuration page whose example is a valid configuration", () => {
    const page = readFileSync(join(root, "docs/configuration.md"), "utf8");
    for (const block of blocks(page, "json"))
      expect(() => parseConfig(block, () => "0123456789abcdef")).not.toThrow();
  });
});
