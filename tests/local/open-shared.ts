import { openDataDir } from "../../adapters/shared/data-dir.ts";
import type { SharedActors, SharedActorsOptions } from "../../adapters/processes/owned-actors.ts";
import { protocolOf } from "../../adapters/processes/owner-connection.ts";
import { sharedActors } from "../../adapters/processes/shared-actors.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import type { Log } from "../../core/ports.ts";
import { host } from "../config/shared.ts";

/** What the platforms of this runtime have to agree on. */
export const speaks: string = protocolOf(host);

/** Opens the actors of a folder as a platform does. */
export function openShared(
  path: string,
  log: Log,
  options: Partial<SharedActorsOptions> = {},
): Promise<SharedActors> {
  return sharedActors({
    folder: openDataDir(path),
    speaks,
    system: localSystem(() => undefined),
    log,
    upgrade: () => null,
    ...options,
  });
}

/** Closes as a platform does. */
export async function closeShared(actors: SharedActors): Promise<void> {
  await actors.close(0);
  await actors.release();
}
