import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

/** The address at which the lock owner of a data directory listens. */
export interface Address {
  /** Path of the socket. */
  readonly socket: string;
  /** Writes the file by which other processes find the socket. Call it once the socket listens. */
  publish(): void;
  remove(): void;
}

/** Name of the file that holds the socket's path. */
const NAME = "holder";
/** The path of a socket has at most 107 bytes on Linux and 103 elsewhere (unix(7)). */
const MAX_PATH = 100;
const SOCKET = "socket";
/** The name of its folder. */
const FOLDER = /^(?:causey-)?holder-\w+$/;

/**
 * Makes a fresh address for the lock owner of a data directory: a socket in a folder that only its owner may enter, since
 * the data directory may be open to others. Below the data directory, or where that path is too long, in a temporary
 * folder.
 */
export function makeAddress(dataDir: string): Address {
  const pointer = join(resolve(dataDir), NAME);
  const former = readAddress(dataDir);
  // Left behind by a lock owner that was killed.
  if (former !== null) removeSocket(former);
  const folder = mkdtempSync(shortEnough(resolve(dataDir)));
  const socket = join(folder, SOCKET);
  return {
    socket,
    publish() {
      const fresh = `${pointer}.${crypto.randomUUID()}`;
      try {
        writeFileSync(fresh, socket, { mode: 0o600, flag: "wx" });
        renameSync(fresh, pointer);
      } catch (error) {
        rmSync(fresh, { force: true });
        throw error;
      }
    },
    remove() {
      if (readAddress(dataDir) === socket) attempt(() => rmSync(pointer));
      removeSocket(socket);
    },
  };
}

/** Returns a path for the socket's folder that leaves room for six more characters and the socket's name. */
function shortEnough(dataDir: string): string {
  const below = join(dataDir, `${NAME}-`);
  const others = [tmpdir(), "/tmp"].map((path) => join(path, `causey-${NAME}-`));
  const isShort = (path: string): boolean =>
    Buffer.byteLength(`${path}XXXXXX/${SOCKET}`) <= MAX_PATH;
  return [below, ...others].find(isShort) ?? below;
}

/** Returns the socket of a data directory's lock owner; null when no file names one. The owner may have ended since. */
export function readAddress(dataDir: string): string | null {
  const pointer = join(resolve(dataDir), NAME);
  try {
    if (!isOwn(pointer) || !lstatSync(pointer).isFile()) return null;
    const socket = readFileSync(pointer, "utf8");
    return isAddress(socket) && isOwn(dirname(socket)) ? socket : null;
  } catch {
    return null;
  }
}

/** Whether {@link makeAddress} made that socket: a path from a damaged file is neither dialled nor removed. */
function isAddress(path: string): boolean {
  const isNamedSo = basename(path) === SOCKET && FOLDER.test(basename(dirname(path)));
  return isNamedSo && isAbsolute(path) && lstatSync(path).isSocket();
}

/** Whether only this user owns and may write to the path: otherwise another user could pose as the lock owner. */
function isOwn(path: string): boolean {
  const { uid, mode } = lstatSync(path);
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

function removeSocket(socket: string): void {
  attempt(() => rmSync(socket));
  // Not when something else is in it: then it was not made here.
  attempt(() => rmdirSync(dirname(socket)));
}

/** Tries a removal. A failure is ignored: leftover files do no harm, and the folder may be gone or read-only by now. */
function attempt(remove: () => void): void {
  try {
    remove();
  } catch {
    // See above.
  }
}
