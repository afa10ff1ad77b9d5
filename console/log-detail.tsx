import type { SessionFacts } from "../core/console/mod.ts";
import type { RequestEffect } from "../core/http/response-note.ts";
import type { RequestRow } from "../core/signals/requests/request-row.ts";
import { askResult } from "./api.ts";
import { useCallers } from "./callers.ts";
import { duration } from "./format.ts";
import { accountPath, Action, change, FactList, useLoaded } from "./parts.tsx";
import { StoredDetail } from "./stored-detail.tsx";
import { findRow } from "./stored-log.ts";
import { type Span, Timeline } from "./timeline.tsx";

interface LogDetailProps {
  readonly row: RequestRow;
  readonly facts: SessionFacts;
}

/** All facts about one request; one of the gateway has more in its log. */
export function LogDetail({ row, facts }: LogDetailProps) {
  const isGateway = row.route.startsWith("/v1/");
  return (
    <div class="detail-body">
      <FactList
        facts={[
          ["Request id", row.id],
          ["Time", new Date(row.time).toISOString()],
          ["First byte", row.firstMs === undefined ? undefined : duration(row.firstMs)],
          ["Complete", duration(row.ms)],
          ["Error", row.error],
          ["Reason", row.reason],
          ["Deprecated", row.deprecation],
        ]}
      />
      {isGateway ? <InGateway row={row} facts={facts} /> : <Timeline spans={spansOf(row)} />}
      {row.made !== undefined && <Again made={row.made} facts={facts} />}
    </div>
  );
}

function InGateway({ row, facts }: LogDetailProps) {
  const stored = useLoaded(() => findRow(row.id, facts.account), [row.id]);
  const callers = useCallers(facts);
  if (stored.value !== null)
    return <StoredDetail row={stored.value} facts={facts} callerOf={callers.nameOf} seen={row} />;
  return (
    <>
      <Timeline spans={spansOf(row)} />
      <p class="muted">{stored.error ?? "Looking for the log row …"}</p>
    </>
  );
}

/** The spans of a request that no gateway answered: the whole, and the streaming of its answer. */
function spansOf({ ms, firstMs, status }: RequestRow): Span[] {
  return [
    { name: "Request", from: 0, ms, tone: status >= 400 ? "bad" : "accent" },
    ...(firstMs === undefined
      ? []
      : [{ name: "Answer streams", from: firstMs, ms: ms - firstMs, tone: "good" } as const]),
  ];
}

/** Repeats the effect of the request: handles its event, or delivers its webhook, once more. */
function Again({ made, facts }: { readonly made: RequestEffect; readonly facts: SessionFacts }) {
  const root = `${accountPath(facts.account)}/webhooks`;
  if (made.kind === "event") {
    const query = new URLSearchParams({
      entity: made.entity,
      agent: made.agent,
      source: made.source,
    });
    const path = `${root}/events/${encodeURIComponent(made.id)}/replay?${query.toString()}`;
    return (
      <div class="actions">
        <span class="small">
          Event <span class="mono">{made.id}</span> of {made.entity}
        </span>
        <Action label="Handle again" disabled={facts.readOnly} onRun={() => change("POST", path)} />
      </div>
    );
  }
  const deliver = async (): Promise<void> => {
    const found = await askResult<readonly { id: string }[]>(
      `${root}/deliveries?message_id=${encodeURIComponent(made.id)}&limit=1000`,
    );
    if (found.length === 0) throw new Error("No endpoint takes events of this type");
    await change("POST", `${root}/deliveries/replay`, { ids: found.map(({ id }) => id) });
  };
  return (
    <div class="actions">
      <span class="small">
        Message <span class="mono">{made.id}</span>
      </span>
      <Action label="Deliver again" disabled={facts.readOnly} onRun={deliver} />
    </div>
  );
}
