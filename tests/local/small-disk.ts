import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";

/** Whether this machine lets a process mount a file system of its own. */
export const canMount: boolean =
  process.platform === "linux" &&
  spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", tmpdir()]).status === 0;

/** The command that runs another one where the folder is a file system of 64 MB, in memory, which only that command sees. */
export function onSmallDisk(
  folder: string,
  command: readonly string[],
): [file: string, ...args: string[]] {
  const mounted = `mount -t tmpfs -o size=64m tmpfs '${folder}' && exec "$@"`;
  return ["unshare", "-rm", "sh", "-c", mounted, "sh", ...command];
}
