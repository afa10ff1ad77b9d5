import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The owner of a browser profile: written before use, read by the next start. */
interface Marker {
  readonly browser: number;
  readonly server: number;
  /** When the server process started, in the kernel's ticks: process ids are reused. */
  readonly started: string;
}

/** Makes a fresh private profile folder below `runDir`. */
export async function makeProfile(runDir: string): Promise<string> {
  const profile = join(runDir, `${process.pid}-${crypto.randomUUID()}`);
  await mkdir(profile, { recursive: true, mode: 0o700 });
  return profile;
}

/** Notes which browser process uses a profile, so that {@link reap} can end it after a crash of this server. */
export async function markProfile(profile: string, browser: number): Promise<void> {
  const marker: Marker = {
    browser,
    server: process.pid,
    started: (await startOf(process.pid)) ?? "",
  };
  await writeFile(join(profile, "causey.json"), JSON.stringify(marker), { mode: 0o600 });
}

/** Ends browsers whose server is gone and removes their profiles. */
export async function reap(runDir: string): Promise<void> {
  const entries = await readdir(runDir).catch((): string[] => []);
  await Promise.all(entries.map((entry) => reapProfile(join(runDir, entry))));
}

async function reapProfile(profile: string): Promise<void> {
  const marker = await readMarker(join(profile, "causey.json"));
  const server = marker?.server ?? Number(/(\d+)-[\w-]+$/u.exec(profile)?.[1] ?? 0);
  const started = server > 0 ? await startOf(server) : null;
  if (started !== null && (marker === null || marker.started === started)) return;
  if (marker !== null && (await usesProfile(marker.browser, profile))) killGroup(marker.browser);
  await removeProfile(profile);
}

/** Removes a profile; a dying browser may still write into it, hence the retries. */
export async function removeProfile(profile: string): Promise<void> {
  await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(
    () => undefined,
  );
}

/** Kills a process group at once; the browser leads its own. */
export function killGroup(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // Already gone.
    }
  }
}

async function readMarker(path: string): Promise<Marker | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (value === null || typeof value !== "object") return null;
    const marker = value as Partial<Record<keyof Marker, unknown>>;
    const { browser, server, started } = marker;
    if (!isPid(browser) || !isPid(server) || typeof started !== "string") return null;
    return { browser, server, started };
  } catch {
    return null;
  }
}

function isPid(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 1;
}

/** Returns the start time of a process; null when it is gone, `""` where the system cannot tell. */
async function startOf(pid: number): Promise<string | null> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code !== "EPERM") return null;
  }
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  // The command name may hold spaces and brackets: fields count from the last bracket.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Whether a process is the browser of a profile, and not a later owner of its id. */
async function usesProfile(pid: number, profile: string): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
  return command.includes(`--user-data-dir=${profile}`);
}
