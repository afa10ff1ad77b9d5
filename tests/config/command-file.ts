/**
 * The file of the command that tests start, from the repository's root. `npm test` has built it, and starts what npm users
 * get, in half of the CPU; a test that runs by itself starts the sources, which are never older than it.
 */
export const commandFile: string =
  process.env["CAUSEY_TEST_BUILT"] === undefined ? "adapters/cli/main.ts" : "dist/cli/main.js";
