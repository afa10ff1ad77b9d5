#!/usr/bin/env node
import process from "node:process";
import { checkNode } from "../shared/work/check-node.ts";
import { failureReport } from "./context/command-options.ts";
import { runCommandLine } from "./run-command-line.ts";

try {
  checkNode(process.versions);
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  const { text, code } = failureReport(error);
  process.stderr.write(text);
  if (process.env["CAUSEY_DEBUG"] !== undefined && error instanceof Error)
    process.stderr.write(`${error.stack}\n`);
  process.exit(code);
}
