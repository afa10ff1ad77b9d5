import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import { eventually } from "../cases/eventually.ts";

/** The code blocks of a Markdown page that are of one language. */
export function codeBlocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gmu)]
    .filter((one) => one[1] === language)
    .map((one) => one[2] ?? "");
}

/** A command of a `console` block and what it prints; `…` in the output stands for anything. */
interface Shown {
  readonly command: string;
  readonly output: string;
}

function shownIn(block: string): Shown[] {
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

/** The place where the commands of a page are run, and what a reader has run before. */
export interface Reader {
  readonly folder: string;
  readonly url: string;
  readonly setUp: string;
}

/** Runs the commands of a `console` block, and expects each to print what the page says. */
export async function expectConsoleBlock(
  block: string,
  { folder, url, setUp }: Reader,
): Promise<void> {
  const here = (text: string): string => text.replaceAll("http://127.0.0.1:8787", url);
  let before = here(setUp);
  for (const { command, output } of shownIn(block)) {
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
    if (command.startsWith('curl -s "')) await eventually(printsIt, `${command} prints ${output}`);
    else expect(printsIt(), `${command}\nprinted ${printed}\ninstead of ${output}`).toBe(true);
    // Variables that a command sets hold for the next ones.
    if (/^[A-Z]+=/u.test(command)) before += `\n${here(command)}`;
  }
}
