import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, inject, onTestFinished } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimesAbove, start } from "./runtimes.ts";

const secret = "Bearer model-key-0123456789";

/** Whether a file of the data folder has the text. */
function holds(dataDir: string, text: string): boolean {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true });
  return files.some(
    (file) => file.isFile() && readFileSync(join(file.parentPath, file.name)).includes(text),
  );
}

/** The rows of a crawl's request and of its key. */
function rowsOf(dataDir: string): { readonly input: unknown; readonly keys: number } {
  const db = new DatabaseSync(join(dataDir, "causey.db"), { readOnly: true });
  const [row] = db.prepare("SELECT input FROM rendering_crawls").all();
  const keys = db.prepare("SELECT actor FROM rendering_crawl_keys").all();
  db.close();
  return { input: JSON.parse(String(row?.["input"])), keys: keys.length };
}

describe.each(runtimesAbove)(
  "a server on %s that is killed in the middle of a crawl",
  (runtime) => {
    itUnless(missing(runtime) || undefined)(
      "goes on after its restart, and reads no page again that it had read",
      LONG,
      async () => {
        const dataDir = mkdtempSync(join(inject("scratch"), "crawl-crash-"));
        const first = start(runtime, "crawl-crash-child.ts", [runtime, dataDir, "begin", secret]);
        onTestFinished(() => void first.kill("SIGKILL"));
        const [, id = ""] = (await lineWith(first, "begun")).split(" ");
        first.kill("SIGKILL");
        await exitOf(first);
        expect(holds(dataDir, id)).toBe(true);
        expect(holds(dataDir, "model-key")).toBe(false);
        expect(rowsOf(dataDir)).toEqual({
          input: { url: "https://example.com/", owner: "a", sealed: expect.any(String) },
          keys: 1,
        });
        const second = start(runtime, "crawl-crash-child.ts", [
          runtime,
          dataDir,
          "go-on",
          secret,
          id,
        ]);
        onTestFinished(() => void second.kill("SIGKILL"));
        const [, status, records, asked, given] = (await lineWith(second, "ended")).split(" ");
        expect([status, records, asked, given]).toEqual([
          "completed",
          "completed:/,completed:/a,completed:/b,completed:/c,completed:/d",
          "/b,/c,/d",
          // The key was opened again for each page that was left.
          "3",
        ]);
        expect(await exitOf(second)).toBe(0);
        expect(rowsOf(dataDir)).toMatchObject({ input: { url: "https://example.com/" }, keys: 0 });
      },
    );
  },
);
