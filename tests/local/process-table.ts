// What Linux tells about processes and their sockets (proc(5)).
import { childIds } from "../platform/children-work.ts";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

interface Stat {
  /** The state letter. */
  readonly state: string;
  readonly parent: number;
  readonly threads: number;
}

/** What there is to know of a process, or null when there is none. */
function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent = "0"] = fields;
    return { state, parent: Number(parent), threads: Number(fields[17]) };
  } catch {
    return null;
  }
}

/** Whether a process runs; one that has ended and waits for its parent's look does not. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== null && stat.state !== "Z" && stat.state !== "X";
}

/**
 * The running servers that a server has started. A runtime has several threads; a program that is asked for something, such as
 * the list of fonts, has one, and so has what is about to become one.
 */
export function childrenOf(pid: number): number[] {
  return childIds(pid).filter((one) => {
    const stat = statOf(one);
    return stat?.parent === pid && stat.threads > 1 && isAlive(one);
  });
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
