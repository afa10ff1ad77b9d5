import { spawnSync } from "node:child_process";

/** Words of the black-box files that a part of the sources can break. */
const parts: Readonly<Record<string, string>> = {
  "core/gateway/": "gateway",
  "core/rendering/": "rendering",
  "core/search/": "search",
  "core/agents/": "agent",
  "core/webhooks/": "webhook",
  "core/deprecations/": "deprecations",
  "core/auth/": "auth",
  "core/signals/": "otlp",
  "console/": "console",
  "snippet/": "search",
  "page-scripts/": "rendering",
  "core/console/": "console",
};

/** Lists the paths of files that differ from a commit, and those that git does not know yet. */
export function changedFiles(since: string): string[] {
  const list = (...args: string[]): string[] => {
    const { status, stdout, stderr } = spawnSync("git", args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`git ${args[0] ?? ""}: ${stderr.trim()}`);
    return stdout.split("\n").filter((line) => line !== "");
  };
  return [
    ...list("diff", "--name-only", since),
    ...list("ls-files", "--others", "--exclude-standard"),
  ];
}

/**
 * Returns the words of the black-box files that changed files can break; null for all of them. A server under test is a
 * process of its own, where no import graph leads from a test to the sources.
 */
export function blackBoxWords(files: readonly string[]): string[] | null {
  const words = new Set<string>();
  for (const file of files) {
    const own = /^tests\/(?:http|clients)\/[^/]+\.test\.ts$/u.test(file);
    const part = Object.keys(parts).find((prefix) => file.startsWith(prefix));
    if (own) words.add(file);
    else if (part !== undefined) words.add(parts[part] ?? "");
    else if (/^(?:core|adapters|tests\/http|tests\/clients|package\.json)/u.test(file)) return null;
  }
  return [...words];
}
