import { describe, expect, it } from "vitest";
import { logSink, type LogSinkOptions } from "../../../adapters/cli/serve/log-sink.ts";
import { lineFilter } from "../../../adapters/shared/log/line-filter.ts";

function sink(options: Partial<LogSinkOptions> = {}) {
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  const made = logSink({
    format: "json",
    isWritten: lineFilter({}),
    colours: false,
    write: (text) => written.push(text),
    later: (work) => waiting.push(work),
    ...options,
  });
  return { ...made, written, waiting };
}

const request = {
  request_id: "r1",
  part: "search",
  method: "GET",
  route: "/a/:b",
  status: 404,
  ms: 1.25,
  bytes: 7,
};

describe("logSink()", () => {
  it("writes a moment's lines in one piece", () => {
    const { log, written, waiting } = sink();
    log("info", "Request", request);
    log("info", "Request", { ...request, request_id: "r2" });
    expect(written).toEqual([]);
    for (const work of waiting) work();
    expect(written).toHaveLength(1);
    const lines = written.join("").trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { request_id: string }).request_id)).toEqual([
      "r1",
      "r2",
    ]);
  });

  it("writes a warning at once, behind what came before it", () => {
    const { log, written } = sink();
    log("info", "first");
    log("warn", "second");
    expect(written.join("")).toMatch(/"first".*\n.*"second"/u);
  });

  it("leaves out what is below its level, and everything when it is off", () => {
    const quiet = sink({ isWritten: lineFilter({ logLevel: "warn" }) });
    quiet.log("info", "no");
    quiet.log("error", "yes");
    expect(quiet.written.join("")).not.toContain("no");
    const off = sink({ format: "off" });
    off.log("error", "no");
    off.flush();
    expect(off.written).toEqual([]);
  });

  it("writes every line of a part that is asked for", () => {
    const { log, written, flush } = sink({
      isWritten: lineFilter({ logLevel: "warn", debug: ["search"] }),
    });
    log("debug", "yes", { part: "search" });
    log("debug", "no", { part: "gateway" });
    log("info", "no");
    flush();
    expect(written.join("").match(/yes|no/gu)).toEqual(["yes"]);
  });

  it("writes lines for people that no text can break", () => {
    const { log, written, flush } = sink({ format: "pretty" });
    log("info", "Request", { ...request, reason: "No\nsuch \u001b[31mpath" });
    flush();
    const text = written.join("");
    expect(text).toMatch(/^\d\d:\d\d:\d\d\.\d{3} 404 GET \/a\/:b 1\.3 ms 7 B /u);
    expect(text.trimEnd().split("\n")).toHaveLength(1);
    expect(text).not.toContain("\u001b");
  });
});
