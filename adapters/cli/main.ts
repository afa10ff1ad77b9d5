#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { checkNode } from "../shared/check-node.ts";
import { liftBunRequestLimit } from "./bun-requests.ts";
import { projectRoot } from "./demo.ts";
import { helpText } from "./help.ts";
import { parseCommandLine } from "./settings.ts";
import { setUpV8Heap } from "./v8-heap.ts";

/** Runs the command line, loading what the command needs when it is known; a failure is one line on standard error and exit code 1. */
async function main(): Promise<void> {
  checkNode(process.versions);
  const args = process.argv.slice(2);
  // It has options of its own.
  if (args[0] === "webhook") {
    const { webhookCommand } = await import("./webhook-send.ts");
    return webhookCommand(args.slice(1));
  }
  if (args[0] === "prices") {
    const { pricesCommand } = await import("./prices.ts");
    return pricesCommand(args.slice(1));
  }
  if (args[0] === "token") {
    const { tokenCommand } = await import("./token.ts");
    return tokenCommand(args.slice(1));
  }
  const { command, flags } = parseCommandLine(args, ["serve", "help", "version"]);
  if (command === "help" || flags.has("help")) process.stdout.write(helpText(version()));
  else if (command === "version" || flags.has("version")) process.stdout.write(`${version()}\n`);
  else {
    liftBunRequestLimit();
    setUpV8Heap();
    const { serveCommand } = await import("./serve.ts");
    await serveCommand(flags, version());
  }
}

function version(): string {
  const root = projectRoot(dirname(fileURLToPath(import.meta.url)));
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "";
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (process.env["CAUSEY_DEBUG"] !== undefined && error instanceof Error)
    process.stderr.write(`${error.stack}\n`);
  process.exit(1);
}
