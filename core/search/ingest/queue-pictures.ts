import { enqueue } from "../state/work-rows.ts";
import type { InstanceState } from "../state/instance-state.ts";

/** An attempt whose pictures are read later. */
export type PicturesAttempt = {
  readonly revision: number;
  /** The `traceparent` of the request. @default that of the earlier work */
  readonly trace?: string | null | undefined;
};

/** Leaves an item to the queue, which reads the pictures of its file. An attempt that a newer upload has overtaken changes nothing. */
export async function queuePictures(
  state: InstanceState,
  itemId: string,
  { revision, trace }: PicturesAttempt,
): Promise<void> {
  const { actor, context } = state;
  const params = [actor, itemId, revision];
  const [row] = await context.sql.all(
    "SELECT id FROM search_items WHERE actor = ? AND id = ? AND revision = ?",
    params,
  );
  if (row === undefined) return;
  await state.clock.write(
    [
      {
        sql: "UPDATE search_items SET status = 'queued' WHERE actor = ? AND id = ? AND revision = ?",
        params,
      },
      enqueue(state, { id: itemId, stage: "pictures", revision, trace }, false),
    ],
    context.steady(),
  );
  state.queueNews.notify();
}
