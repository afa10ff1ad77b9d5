import { tariffFor } from "../../prices/price.ts";
import type { Needs } from "../../chat/conversation.ts";
import type { PoolCandidate } from "./pool.ts";

/** Tokens that an answer is taken to have, unless the request allows fewer. */
const ANSWER_TOKENS = 500;

export interface Ranked {
  readonly candidate: PoolCandidate;
  /** US dollars; null when no price is known. */
  readonly cost: number | null;
}

/**
 * Returns the candidates, cheapest first; those of the same cost as they were declared, those without a price last. `warm`
 * is the one that holds the conversation in its prompt cache, so that its input costs what cached input costs.
 */
export function ranked(
  candidates: readonly PoolCandidate[],
  needs: Needs,
  warm: PoolCandidate | null,
): Ranked[] {
  return candidates
    .map((candidate) => ({ candidate, cost: costOf(candidate, needs, candidate === warm) }))
    .toSorted((a, b) => order(a) - order(b));
}

function order({ cost }: Ranked): number {
  // Two infinities have no difference.
  return cost ?? Number.MAX_VALUE;
}

function costOf({ price: list }: PoolCandidate, needs: Needs, isWarm: boolean): number | null {
  if (list === null) return null;
  const { inputTokens, outputTokens } = needs;
  const price = tariffFor(inputTokens, list);
  const input = isWarm ? Math.min(price.cached ?? price.input, price.input) : price.input;
  const answer = Math.min(outputTokens ?? ANSWER_TOKENS, ANSWER_TOKENS);
  return (inputTokens * input + answer * price.output) / 1_000_000;
}
