const ACTORS = "/actors/";

/** Returns the path of requests to an actor. */
export function actorPath(kind: string, name: string): string {
  return `${ACTORS}${encodeURIComponent(kind)}/${encodeURIComponent(name)}`;
}

/** Returns the actor of a path; null for another one. */
export function actorOf(path: string): { readonly kind: string; readonly name: string } | null {
  const [kind, name, ...more] = path.startsWith(ACTORS) ? path.slice(ACTORS.length).split("/") : [];
  if (kind === undefined || name === undefined || more.length > 0) return null;
  try {
    return { kind: decodeURIComponent(kind), name: decodeURIComponent(name) };
  } catch {
    return null;
  }
}

/** The path of the connection that carries calls, in the order in which they are made. */
export const CALLS = "/calls";
/** The protocol to which that connection is upgraded (RFC 9110 section 7.8). */
export const UPGRADE = "causey-calls";

/** The header that names what both ends have to agree on, percent-encoded. */
export const SPEAKS = "x-causey-speaks";
/** The header that names the owner's process. */
export const PID = "x-causey-pid";

/** The status of a process that has not got the actor, or not any more (RFC 9110 section 15.5.20). */
export const MOVED = 421;
/** The header of such an answer when the process shuts down. */
export const LEAVING = "x-causey-leaving";
/** The status for a caller that speaks otherwise; the body says how the owner does. */
export const UNLIKE = 409;

const NUMBERED = /^causey%20cluster%20(\d+)$/u;

/**
 * Whether ends that name these properties, percent-encoded, may call each other. The numbers of nodes may differ by one, as during an
 * upgrade: so a version must understand the messages of the one before, and send none that it would not.
 */
export function speakAlike(theirs: string, ours: string): boolean {
  const apart = Math.abs(Number(NUMBERED.exec(theirs)?.[1]) - Number(NUMBERED.exec(ours)?.[1]));
  return theirs === ours || apart === 1;
}
