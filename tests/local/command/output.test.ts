import { describe, expect, it } from "vitest";
import { table } from "../../../adapters/cli/api/output.ts";
import { byteProgress, copyNotice, progress, size } from "../../../adapters/cli/api/progress.ts";

function recorded(isTerminal: boolean): {
  readonly lines: string[];
  readonly clock: { now: number };
  readonly options: { write: (text: string) => void; isTerminal: boolean; now: () => number };
} {
  const lines: string[] = [];
  const clock = { now: 0 };
  const write = (text: string): void => void lines.push(text);
  return { lines, clock, options: { write, isTerminal, now: () => clock.now } };
}

describe("progress()", () => {
  it("shows count, bytes, rate and the time that is left, in one line of a terminal", () => {
    const { lines, clock, options } = recorded(true);
    const shown = progress({ total: 40, unit: "files", totalBytes: 8_000_000, ...options });
    clock.now = 2000;
    shown.at(10, 2_000_000);
    shown.end("Uploaded 10 of 40 files");
    expect(lines).toEqual([
      "\r\u001b[K[#####---------------]  10 of 40 files  2.0 MB of 8.0 MB  1.0 MB/s  0:06 left",
      "\r\u001b[KUploaded 10 of 40 files\n",
    ]);
  });

  it("writes a line every five seconds elsewhere, and the last one", () => {
    const { lines, clock, options } = recorded(false);
    const shown = progress({ total: 200, unit: "items", ...options });
    for (let done = 1; done <= 200; done++) {
      clock.now = done * 100;
      shown.at(done);
    }
    shown.end("Indexed");
    expect(lines.map((line) => line.trimEnd())).toEqual([
      "[#####---------------]  50 of 200 items  10.0 items/s  0:15 left",
      "[##########----------]  100 of 200 items  10.0 items/s  0:10 left",
      "[###############-----]  150 of 200 items  10.0 items/s  0:05 left",
      "[####################]  200 of 200 items  10.0 items/s",
      "Indexed",
    ]);
  });

  it("shows bytes alone, and leaves nothing behind", () => {
    const { lines, clock, options } = recorded(true);
    const shown = byteProgress(8_000_000, options);
    clock.now = 2000;
    shown.more(1_000_000);
    clock.now = 4000;
    shown.more(1_000_000);
    shown.end();
    expect(lines.slice(1)).toEqual([
      "\r\u001b[K[#####---------------]  2.0 MB of 8.0 MB  500.0 kB/s  0:12 left",
      "\r\u001b[K",
    ]);
    const file = recorded(false);
    const quick = byteProgress(1000, file.options);
    quick.more(1000);
    quick.end();
    expect(file.lines).toEqual([]);
  });

  it("is told of a copy that takes a while, on a terminal only", () => {
    const { lines, options } = recorded(true);
    copyNotice("the database", 1_200_000_000, options)();
    expect(lines).toEqual(["Copying the database (1.2 GB) …", "\r\u001b[K"]);
    const quick = recorded(true);
    copyNotice("the database", 1_000_000, quick.options)();
    const file = recorded(false);
    copyNotice("the database", 1_200_000_000, file.options)();
    expect([quick.lines, file.lines]).toEqual([[], []]);
  });

  it("holds with nothing to do", () => {
    const { lines, options } = recorded(true);
    progress({ total: 0, unit: "files", ...options }).at(0, 0);
    expect(lines).toEqual(["\r\u001b[K[####################]  0 of 0 files"]);
  });
});

it("size() is for people", () => {
  expect([0, 999, 1000, 2_340_000, 5e12].map(size)).toEqual([
    "0 B",
    "999 B",
    "1.0 kB",
    "2.3 MB",
    "5000.0 GB",
  ]);
});

it("table() aligns columns, and no terminal obeys what it holds", () => {
  const rows = [
    ["a\u001b[31m", 1],
    [null, true],
  ] as const;
  expect(table(["NAME", "N"], rows)).toBe("NAME    N\na�[31m  1\n-       true\n");
});
