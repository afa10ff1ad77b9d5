/**
 * The file of the command that tests start, from the repository's root. `npm test` has built it, and starts what npm users
 * get, in half of the CPU; a test that runs by itself starts the sources, which are never older than it.
 */
export const commandFile: string = isBuilt() ? "dist/cli/main.js" : "adapters/cli/main.ts";

function isBuilt(): boolean {
  return process.env["CAUSEY_TEST_BUILT"] !== undefined;
}

/** The folder of the programs that `scripts/build-children.ts` has built of those that tests start. */
export const builtChildren = "dist/tests";

/**
 * The file of a program of `tests/local` from the repository's root: like the command, `npm test` has built it, in one file
 * in place of the thousand that each start would read. A program of `../clients` starts from its source: there its packages are.
 */
export function childFile(file: string): string {
  return isBuilt() && /^[\w-]+-child\.ts$/u.test(file)
    ? `${builtChildren}/children/${file.replace(/ts$/u, "js")}`
    : `tests/local/${file}`;
}
