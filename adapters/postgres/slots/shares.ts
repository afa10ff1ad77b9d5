/** Slots that go to another node. */
export interface Gift {
  readonly to: string;
  readonly slots: readonly number[];
}

/**
 * Returns how many slots each node shall have: the same number, and the first nodes by id one more where that does not come
 * out even. So all nodes come to the same result.
 */
export function fairShares(nodes: readonly string[], slots: number): Map<string, number> {
  const sorted = nodes.toSorted();
  const each = Math.floor(slots / sorted.length);
  const more = slots - each * sorted.length;
  return new Map(sorted.map((id, at) => [id, each + (at < more ? 1 : 0)]));
}

/** Divides slots among nodes that have fewer than they shall; what is too much for them stays. */
export function giftsOf(
  slots: readonly number[],
  shares: ReadonlyMap<string, number>,
  counts: ReadonlyMap<string, number>,
): Gift[] {
  let at = 0;
  return [...shares].flatMap(([to, share]) => {
    const some = slots.slice(at, at + Math.max(0, share - (counts.get(to) ?? 0)));
    at += some.length;
    return some.length === 0 ? [] : [{ to, slots: some }];
  });
}
