import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { root } from "../config/shared.ts";

const run = promisify(execFile);
const page = readFileSync(`${root}docs/life-of-a-request.md`, "utf8");

/** The requests that `npm run trace` knows, and the headings of their tables. */
const traced = [
  ["chat", "A chat through the gateway"],
  ["rendering", "A rendering"],
  ["webhook", "A webhook to an agent"],
] as const;

interface Row {
  readonly room: string;
  /** File names that the row gives. */
  readonly files: readonly string[];
  /** Work after the answer waits for a timer: it may be missing from a trace, or come early. */
  readonly isLater: boolean;
}

function rowsBelow(heading: string): Row[] {
  const [, rest = ""] = page.split(`## ${heading}\n`);
  const [section = ""] = rest.split("\n## ");
  return [...section.matchAll(/^\| `([\w/-]+)` \| (.*) \|$/gmu)].map(
    ([, room = "", text = ""]) => ({
      room,
      files: [...text.matchAll(/`([\w-]+\.ts)`/gu)].map(([, file = ""]) => file),
      isLater: text.startsWith("After the answer:"),
    }),
  );
}

it.each(traced)(
  "the table of the request %s has the rooms that it passes, in order",
  async (name, heading) => {
    const command = ["scripts/trace.ts", name, "--json"];
    const { stdout } = await run(process.execPath, command, { cwd: root });
    const rooms = JSON.parse(stdout) as Record<string, string[]>;
    const rows = rowsBelow(heading);
    const later = new Set(rows.filter(({ isLater }) => isLater).map(({ room }) => room));
    const inTime = (all: readonly string[]): string[] => all.filter((room) => !later.has(room));
    const row = (room: string): string =>
      `| \`${room}\` | ${(rooms[room] ?? []).map((file) => `\`${file}\``).join(" ")} |`;

    const expected = inTime(Object.keys(rooms));
    const written = inTime(rows.map(({ room }) => room));
    const missing = expected.filter((room) => !written.includes(room)).map(row);
    expect(missing, "rows to write, with the files that were entered").toEqual([]);
    expect(written).toEqual(expected);
    const unentered = rows.flatMap(({ room, files, isLater }) =>
      isLater ? [] : files.filter((file) => rooms[room]?.includes(file) !== true),
    );
    expect(unentered, "files that the request does not enter").toEqual([]);
  },
);
