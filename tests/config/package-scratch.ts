import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** Makes the folder of what the files of one run share. */
export default function setup(project: TestProject): () => void {
  const scratch = mkdtempSync(join(tmpdir(), "causey-package-"));
  project.provide("scratch", scratch);
  return () => rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
