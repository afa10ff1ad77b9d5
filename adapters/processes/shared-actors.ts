import { peerActors, lockFolder } from "./peer-actors.ts";
import { ownedActors, type SharedActors, type SharedActorsOptions } from "./owned-actors.ts";

/**
 * Returns the actors of a data directory. The process that comes first holds it: actors have one home. Those that come
 * later call them there, and one of them takes over when the lock owner ends, however it ends.
 */
export async function sharedActors(options: SharedActorsOptions): Promise<SharedActors> {
  if (!(await lockFolder(options.folder))) return peerActors(options);
  try {
    return ownedActors(options);
  } catch (error) {
    options.folder.release();
    throw error;
  }
}
