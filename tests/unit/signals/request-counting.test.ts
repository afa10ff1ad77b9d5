import { describe, expect, it } from "vitest";
import { requestCounting } from "../../../core/signals/request-counting.ts";
import type { System } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";

const row = { time: 1, id: "r", part: "p", method: "GET", route: "/", status: 200, ms: 1 };

/** What is logged when a batch cannot be stored. */
async function loggedFor(failure: Error): Promise<string[]> {
  const lines: string[] = [];
  const work: Promise<unknown>[] = [];
  const system = {
    id: () => "source",
    sleep: () => Promise.resolve(),
    waitUntil: (one: Promise<unknown>) => void work.push(one),
  } as unknown as System;
  const log = (_level: string, message: string): void => void lines.push(message);
  const counting = requestCounting({ system, log }, () => Promise.reject(failure));
  counting.add(row);
  await Promise.all(work);
  return lines;
}

describe("requestCounting()", () => {
  it("does not repeat each second what the database has told of once", async () => {
    const full = Object.assign(new SqlError("full", "database or disk is full"), {
      isReported: true,
    });
    await expect(loggedFor(full)).resolves.toEqual([]);
    await expect(loggedFor(new TypeError("other"))).resolves.toHaveLength(1);
  });
});
