import process from "node:process";
import type * as sqlite from "node:sqlite";
import { checkNode } from "../work/check-node.ts";

/**
 * SQLite of Node, Deno and Bun. Node 22 prints an ExperimentalWarning when it is loaded, which is of no use to an operator;
 * a static import would print it before any code of ours runs.
 */
export const DatabaseSync: typeof sqlite.DatabaseSync = loadQuietly().DatabaseSync;

export type DatabaseSync = sqlite.DatabaseSync;

function loadQuietly(): typeof sqlite {
  checkNode(process.versions);
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}
