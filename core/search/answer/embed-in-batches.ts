/** Asks for the vectors of texts; null when the server says that they are too many or too much for one request. */
export type BatchRequest = (texts: readonly string[]) => Promise<readonly Float32Array[] | null>;

/** The number of texts that a server takes at once; it shrinks when the server refuses so many. */
export interface BatchLimit {
  most: number;
}

/**
 * Asks for vectors in batches, in order. A batch that is refused for its size is halved until its halves are taken, and
 * later batches are no larger than those. Null when a single text is refused.
 */
export async function embedInBatches(
  texts: readonly string[],
  limit: BatchLimit,
  request: BatchRequest,
): Promise<Float32Array[] | null> {
  const out: Float32Array[] = [];
  for (let at = 0; at < texts.length;) {
    const batch = texts.slice(at, at + limit.most);
    const vectors = await request(batch);
    if (vectors !== null) out.push(...vectors);
    else {
      const half = Math.ceil(batch.length / 2);
      if (batch.length === 1) return null;
      // Its own limit: one text that is too long says nothing about the number of others.
      const own = { most: half };
      const halves = await embedInBatches(batch, own, request);
      if (halves === null) return null;
      limit.most = Math.min(limit.most, own.most);
      out.push(...halves);
    }
    at += batch.length;
  }
  return out;
}
