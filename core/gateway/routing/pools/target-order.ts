import { utf8 } from "../../../crypto/encoding.ts";
import type { ModelTarget } from "./model-pools.ts";

export interface OrderFacts {
  /** Whether a target failed a short while ago. */
  readonly isCooling: (target: ModelTarget) => boolean;
  /** Returns a number above 0, up to 1. */
  readonly random: () => number;
  /** The conversation that stays with one target, whose prompt cache knows it. @default requests are spread */
  readonly session: string | undefined;
}

/**
 * Returns the targets in the order in which a request asks them. Weights are shares of the requests, and of those that a
 * failing target leaves to the others, too (A-Res: Efraimidis, Spirakis, "Weighted random sampling with a reservoir"). With a
 * hash in place of the random number a session keeps its target (weighted rendezvous hashing). Targets that are cooling
 * come last, but they come: to ask them is better than to fail.
 */
export function targetOrder(
  targets: readonly ModelTarget[],
  { isCooling, random, session }: OrderFacts,
): readonly ModelTarget[] {
  if (targets.length === 1) return targets;
  return targets
    .map((target) => {
      const chance = session === undefined ? random() : hashed(session, target.id);
      const rank = target.weight === 0 ? Number.MAX_VALUE : -Math.log(chance) / target.weight;
      return { target, rank, group: isCooling(target) ? 1 : 0 };
    })
    .toSorted((a, b) => a.group - b.group || a.rank - b.rank)
    .map(({ target }) => target);
}

/** Returns a number above 0, up to 1: FNV-1a with the finishing steps of MurmurHash3, which spread short texts evenly. */
function hashed(session: string, target: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const byte of utf8(`${session}\n${target}`)) hash = Math.imul(hash ^ byte, 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 2 ** 32;
}
