import { guestActors, holdFolder } from "./guest-actors.ts";
import { holdActors, type SharedActors, type SharedActorsOptions } from "./hold-actors.ts";

/**
 * The actors of a data directory. The process that comes first holds it: actors have one home. Those that come later
 * call them there, and one of them takes over when the holder ends, however it ends.
 */
export async function sharedActors(options: SharedActorsOptions): Promise<SharedActors> {
  if (!(await holdFolder(options.folder))) return guestActors(options);
  try {
    return holdActors(options);
  } catch (error) {
    options.folder.release();
    throw error;
  }
}
