import type { InstanceState } from "../instance/instance-state.ts";
import type { SearchOptions } from "../search-deps.ts";
import { openToken } from "../tokens/token-secrets.ts";
import { bucketReader } from "./bucket-reader.ts";
import { sourceOf } from "./check-source.ts";
import { siteReader } from "./site-reader.ts";
import type { SourceReader } from "./source-reader.ts";

/** The reader of an instance's source; null for an instance of uploads. Throws what is missing for it. */
export async function openSource(
  state: InstanceState,
  deps: SearchOptions,
): Promise<SourceReader | null> {
  const { settings } = state.facts();
  const source = settings.type == null ? null : sourceOf(settings, deps);
  if (source === null) return null;
  const [account = ""] = state.actor.split("/");
  if (source.kind === "bucket") {
    const credentials = await openToken(deps, account, source.tokenId);
    return bucketReader({ source, credentials, platform: deps.platform });
  }
  const { crawler } = deps;
  // `sourceOf` has thrown where there is none.
  return crawler === undefined ? null : siteReader(source, account, crawler);
}
