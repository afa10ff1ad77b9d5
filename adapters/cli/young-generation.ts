import process from "node:process";
import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8's young generation at the size that it has after the start, 2 x 16 MB. By itself it grows to 2 x 64 MB under
 * load, which is four times all that the server keeps in its heap, and gives nothing back. Whoever sets a size for it
 * (`NODE_OPTIONS=--max-semi-space-size=64`) gets that.
 */
export function holdYoungGeneration(): void {
  // Bun has another engine.
  if (process.versions["bun"] !== undefined) return;
  const given = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ");
  if (!given.includes("semi-space")) setFlagsFromString("--semi-space-growth-factor=1");
}
