/** A chunk near a query, by vectors of bytes. */
export interface NearRow {
  readonly chunk: number;
  readonly itemId: string;
  /** About the cosine. */
  readonly cosine: number;
}

export interface RowRun {
  readonly id: string;
  readonly first: number;
  readonly row: number;
  readonly count: number;
}

/** The best rows of a search, before they are anything but numbers. */
export interface BestRows {
  /** The cosine below which a row cannot be among the best any more. */
  bar: number;
  add(row: number, cosine: number): void;
  /** In order; `owners` has the run of each row. */
  rows(owners: readonly RowRun[]): NearRow[];
}

/** Begins to look for the best rows. */
export function bestRows(limit: number): BestRows {
  // Finding the bar now and then is cheaper than keeping order.
  const room = 4 * limit;
  const found = new Int32Array(room);
  const cosines = new Float64Array(room);
  let count = 0;
  const best: BestRows = {
    bar: 0,
    add(row, cosine) {
      if (count === room) drop();
      if (cosine < best.bar) return;
      found[count] = row;
      cosines[count++] = cosine;
    },
    rows(owners) {
      const all: NearRow[] = [];
      for (let n = 0; n < count; n++) {
        const row = found[n] ?? 0;
        const owner = owners[row];
        if (owner === undefined || (cosines[n] ?? 0) < best.bar) continue;
        all.push({
          chunk: owner.first + row - owner.row,
          itemId: owner.id,
          cosine: cosines[n] ?? 0,
        });
      }
      return nearestRows(all, limit);
    },
  };
  const drop = (): void => {
    best.bar = cosines.toSorted().at(-limit) ?? 0;
    let kept = 0;
    // Equal ones all stay, as long as there is room: the order decides in the end.
    for (let n = 0; n < room; n++) {
      if ((cosines[n] ?? 0) < best.bar || kept >= 2 * limit) continue;
      found[kept] = found[n] ?? 0;
      cosines[kept++] = cosines[n] ?? 0;
    }
    count = kept;
  };
  return best;
}

/** Returns the nearest rows in order: by cosine, then by chunk. */
export function nearestRows(rows: readonly NearRow[], limit: number): NearRow[] {
  const all = rows.toSorted((a, b) => b.cosine - a.cosine || a.chunk - b.chunk);
  return all.filter(({ cosine }, n) => n < limit && cosine > 0);
}
