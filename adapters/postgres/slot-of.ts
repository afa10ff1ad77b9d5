/** The number of slots. Fixed: all nodes of a cluster, of whichever version, divide the same ones. */
export const SLOTS = 1024;

/** Returns the slot of an actor, by FNV-1a over its kind and name (32 bits, UTF-16 units). Fixed for the same reason. */
export function slotOf(kind: string, name: string): number {
  const text = `${kind}\0${name}`;
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % SLOTS;
}
