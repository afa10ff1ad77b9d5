/** `engines.node` of package.json: SQLite is not behind a flag, and `process.execve` and zstd are there. */
const MINIMUM = [22, 19] as const;

/** Throws one line when this is a Node that is too old; Deno and Bun pass, whatever Node they claim to be. */
export function checkNode(versions: Readonly<Record<string, string | undefined>>): void {
  const { node = "", deno, bun } = versions;
  if (deno !== undefined || bun !== undefined) return;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return;
  throw new Error(`causey needs Node ${MINIMUM.join(".")} or newer: this is Node ${node}`);
}
