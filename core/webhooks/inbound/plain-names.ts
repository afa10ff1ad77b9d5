import type { NowOrLater } from "../../work/now-or-later.ts";
import { webhookIndex } from "../../entity/webhook-index.ts";
import type { Actors } from "../../ports.ts";
import type { NameSpace } from "./name-space.ts";

/**
 * Whether a source may take unclaimed plain names. A source that had its agent class to itself keeps the plain names
 * when other sources are added; otherwise their senders could take the names of its next entities first.
 */
export function plainNames(
  actors: Pick<Actors, "get">,
  agentClass: string,
  space: NameSpace,
): () => NowOrLater<boolean> {
  let known: Promise<boolean> | boolean | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      const { isAlone, owners } = space;
      const holder = await webhookIndex(actors).plainHolder(agentClass, owners, isAlone);
      return (known = holder === null || owners.includes(holder) || !space.isForeign(holder));
    } catch {
      // Asked again with the next event: this one must not be lost for it.
      known = undefined;
      return space.isAlone;
    }
  };
  return () => (known ??= ask());
}
