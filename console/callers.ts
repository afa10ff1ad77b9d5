import type { SessionFacts } from "../core/console/mod.ts";
import { askResult } from "./api.ts";
import { accountPath, useLoaded } from "./parts.tsx";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The callers that have names. */
export interface Callers {
  /** The name of a caller of a log row. */
  readonly nameOf: (caller: string | null) => string;
  /** The names by caller. */
  readonly names: ReadonlyMap<string, string>;
}

/** Knows the names of virtual keys and API tokens, as far as the session may see them. */
export function useCallers({ account, isHosted }: SessionFacts): Callers {
  const root = accountPath(account);
  const read = (kind: string, path: string): Promise<(readonly [string, string])[]> =>
    askResult<readonly Named[]>(`${root}${path}`).then(
      (found) => found.map(({ id, name }) => [`${kind}:${id}`, name] as const),
      // A token that may not list them still sees their ids.
      () => [],
    );
  const loaded = useLoaded(
    async () =>
      new Map([
        ...(await read("key", "/ai-gateway/virtual-keys?per_page=100")),
        ...(isHosted ? [] : await read("token", "/tokens?per_page=50")),
      ]),
    [],
  );
  const names = loaded.value ?? new Map<string, string>();
  return {
    names,
    nameOf: (caller) => (caller === null ? "–" : (names.get(caller) ?? short(caller))),
  };
}

/** Ids are 32 digits: the first of them tell callers apart. */
function short(caller: string): string {
  return caller.length > 24 ? `${caller.slice(0, 14)}…` : caller;
}
