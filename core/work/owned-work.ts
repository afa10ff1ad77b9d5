import type { Background } from "../ports.ts";

/** The owner of work: places and threads are shared fairly between owners, such as tokens and accounts. */
export interface OwnedWork {
  readonly owner: string;
  /** Runs long tasks for that owner. */
  readonly background: Background;
}

export function workFor(owner: string, background: Background): OwnedWork {
  const run: Background["run"] = (task, input, signal, given = owner) =>
    background.run(task, input, signal, given);
  return { owner, background: { run } };
}
