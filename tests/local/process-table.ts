// What Linux tells about processes and their sockets (proc(5)).
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** The state letter and the parent of a process, or null when there is none. */
function statOf(pid: number): { readonly state: string; readonly parent: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state = "", parent = "0"] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

/** Whether a process runs; one that has ended and waits for its parent's look does not. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== null && stat.state !== "Z" && stat.state !== "X";
}

/** The running processes that a process has started. */
export function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((one) => statOf(one)?.parent === pid && isAlive(one));
}

/** How many sockets of a TCP port on 127.0.0.1 each of these processes has. */
export function socketsAt(
  port: number,
  state: "listening" | "connected",
  pids: readonly number[],
): number[] {
  const inodes = new Set(
    readFileSync("/proc/net/tcp", "latin1")
      .split("\n")
      .map((line) => line.trim().split(/\s+/u))
      .filter(
        ([, local, , letter]) =>
          Number.parseInt(local?.split(":")[1] ?? "", 16) === port &&
          letter === (state === "listening" ? "0A" : "01"),
      )
      .map((fields) => `socket:[${fields[9] ?? ""}]`),
  );
  return pids.map((pid) => filesOf(pid).filter((file) => inodes.has(file)).length);
}

function filesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return attempt(() => readdirSync(folder), []).map((name) =>
    attempt(() => readlinkSync(`${folder}/${name}`), ""),
  );
}

/** What is looked at may just have gone. */
function attempt<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
