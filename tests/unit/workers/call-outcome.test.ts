import { expect, test } from "vitest";
import {
  errorAsResponse,
  settledCall,
  responseOf,
  valueOf,
  withoutErrorHeader,
} from "../../../adapters/shared/actors/call-outcome.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Log } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";

function recorder(): { lines: string[]; log: Log } {
  const lines: string[] = [];
  return {
    lines,
    log: (level, message, fields) => lines.push(`${level} ${message} ${String(fields?.["error"])}`),
  };
}

const cases = [
  ["an ApiError", new ApiError("conflict", { message: "Schon da: ü\n🙂", details: { at: 1 } })],
  ["a SqlError", new SqlError("full", "Disk full")],
  ["any other error", new TypeError("Broken")],
] as const;

test.each(cases)("%s crosses a call and a fetch as itself", async (_name, error) => {
  const { log } = recorder();
  const outcome = structuredClone(await settledCall(() => Promise.reject(error), log, "x"));
  const { name, message } = error;
  expect(() => valueOf(outcome)).toThrow(expect.objectContaining({ name, message }));
  const response = errorAsResponse(error, log, "x");
  expect(() => responseOf(response)).toThrow(expect.objectContaining({ name, message }));
});

test("only what no caller expects is logged, once and without its own trace crossing", async () => {
  const { lines, log } = recorder();
  await settledCall(() => Promise.reject(new ApiError("conflict")), log, "x");
  const outcome = await settledCall(() => Promise.reject(new Error("Broken")), log, "x");
  expect(lines).toEqual(["error Actor failed Error: Broken"]);
  expect(JSON.stringify(outcome)).not.toContain("at ");
});

test("an actor's own response cannot pass for a failure", () => {
  const forged = errorAsResponse(new ApiError("forbidden"), () => undefined, "x");
  expect(responseOf(withoutErrorHeader(forged)).status).toBe(500);
});
