import { describe, expect, it } from "vitest";
import { logWriter, type LogWriter } from "../../adapters/shared/log/log-writer.ts";
import { eventually } from "../cases/eventually.ts";

/** A reader with room for some bytes, and a writer to it whose log tells as lines. */
function pipe(room: number): {
  readonly writer: LogWriter;
  readonly text: () => string;
  readonly read: (more: number) => void;
  readonly state: { error: Error | null };
} {
  let text = "";
  let free = room;
  const state: { error: Error | null } = { error: null };
  const writer = logWriter(
    () => (bytes) => {
      if (state.error !== null) throw state.error;
      const taken = Math.min(free, bytes.length);
      free -= taken;
      text += new TextDecoder().decode(bytes.subarray(0, taken));
      return taken;
    },
    (_, message, fields) => writer.write(`${message}: ${String(fields?.["reason"])}\n`),
  );
  return { writer, text: () => text, read: (more) => void (free += more), state };
}

describe("logWriter()", () => {
  it("goes on where a line was cut, in order", async () => {
    const { writer, text, read } = pipe(4);
    writer.write("first\n");
    writer.write("second\n");
    expect(text()).toBe("firs");
    read(100);
    await eventually(() => text() === "first\nsecond\n", "both lines");
    expect(writer.dropped()).toBe(0);
  });

  it("holds back a bounded part, and tells of the others at their place", async () => {
    const { writer, text, read } = pipe(0);
    const line = `${"x".repeat(1023)}\n`;
    for (let at = 0; at < 5000; at++) writer.write(line);
    // Whole lines of 1 MiB.
    expect(writer.dropped()).toBe(5000 - 1024);
    read(Infinity);
    await eventually(() => text().includes("dropped"), "the dropped lines are told");
    const lines = text().trimEnd().split("\n");
    expect(lines).toHaveLength(1025);
    expect(lines.at(-1)).toBe("3976 log lines were dropped: the reader of the log is too slow");
    writer.write("next\n");
    expect(text().endsWith("next\n")).toBe(true);
  });

  it("drops what would hide that lines are missing before it", () => {
    const { writer, text } = pipe(0);
    // Room is left for the short line alone.
    writer.write(`${"x".repeat(1024 * 1024 - 9)}\n`);
    writer.write("missing line\n");
    expect(writer.dropped()).toBe(1);
    writer.write("short\n");
    expect(writer.dropped()).toBe(2);
    expect(text()).toBe("");
  });

  it("throws nothing when the target fails, and writes when it works again", async () => {
    const { writer, text, state } = pipe(Infinity);
    state.error = new Error("ENOSPC: no space left on device, write");
    writer.write("kept\n");
    writer.flush();
    writer.write(`${"x".repeat(2 * 1024 * 1024)}\n`);
    expect([text(), writer.dropped()]).toEqual(["", 1]);
    state.error = null;
    await eventually(() => text().includes("dropped"), "the dropped line is told");
    expect(text()).toBe("kept\n1 log lines were dropped: ENOSPC: no space left on device, write\n");
  });
});
