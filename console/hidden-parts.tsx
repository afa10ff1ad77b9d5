import type { SessionFacts } from "../core/console/mod.ts";
import type { Live } from "./live.ts";

/** Says which requests are not counted or not shown, and why. */
export function HiddenParts({
  live,
  facts,
}: {
  readonly live: Live;
  readonly facts: SessionFacts;
}) {
  const hidden = Object.entries(live.overview?.hidden ?? {});
  if (!facts.isCounted)
    return (
      <p class="notice">
        Your program serves causey below its own <code>route()</code>, so this page neither counts
        requests nor lists them live. The stored log and all other pages are complete.
      </p>
    );
  if (hidden.length === 0) return null;
  return (
    <aside class="notice" aria-label="Not shown">
      <p>
        Not shown, because this token lacks the permission on account <code>{facts.account}</code>:
      </p>
      <ul>
        {hidden.map(([part, permission]) => (
          <li key={part}>
            {NAMES[part] ?? part}: <strong>{permission}</strong>
          </li>
        ))}
      </ul>
    </aside>
  );
}

/** Parts that hold more than their requests. */
const NAMES: Readonly<Record<string, string>> = {
  gateway: "gateway, with its tokens and cost",
  platform: "everything else, with the uses of deprecated APIs",
};
