import { existsSync } from "node:fs";

/** Runs a program of this clone that imports the built package, or says what has to run before it. */
export async function start(program: () => Promise<unknown>): Promise<void> {
  if (existsSync(new URL("../dist/core/mod.js", import.meta.url))) {
    await program();
    return;
  }
  console.error("error: this clone has no dist folder, which the examples import");
  console.error("hint: run npm install and npm run build in it first");
  process.exitCode = 1;
}
