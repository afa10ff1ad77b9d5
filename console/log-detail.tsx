import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { RequestEffect } from "../core/http/response-note.ts";
import type { RequestRow } from "../core/signals/requests/request-row.ts";
import { ask, AskError, askResult } from "./api.ts";
import { duration } from "./format.ts";
import { accountPath, Action, change, Copy, FactList, messageOf, pretty, Table } from "./parts.tsx";
import { curlOf, sdkCallOf } from "./snippets.ts";
import { type Span, Timeline } from "./timeline.tsx";

/** The members of a log row that are shown: texts, numbers and booleans. */
type StoredLog = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The gateway's log of a request. */
interface Stored {
  readonly log: StoredLog;
  readonly request: string;
  readonly response: string;
  readonly path: string;
  /** All rows of the request, in their order. */
  readonly attempts: readonly StoredLog[];
}

/** All facts about one request. */
export function LogDetail({
  row,
  facts,
}: {
  readonly row: RequestRow;
  readonly facts: SessionFacts;
}) {
  const [stored, setStored] = useState<Stored | string | null>(null);
  const isGateway = row.route.startsWith("/v1/");
  useEffect(() => {
    if (!isGateway) return;
    readStored(row.id, facts.account).then(setStored, (error: unknown) =>
      setStored(messageOf(error)),
    );
  }, [row.id]);
  const isStored = typeof stored === "object" && stored !== null;
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
          ...(isStored
            ? shownFacts.map(
                (name) => [name.replaceAll("_", " "), shown(stored.log[name])] as const,
              )
            : []),
        ]}
      />
      <Timeline spans={spansOf(row, isStored ? stored.attempts : [])} />
      {row.made !== undefined && <Again made={row.made} facts={facts} />}
      {isGateway && stored === null && <p class="muted">Looking for the log row …</p>}
      {typeof stored === "string" && <p class="muted">{stored}</p>}
      {isStored && (
        <>
          <Attempts attempts={stored.attempts} />
          <div class="actions">
            <Copy label="Copy as curl" text={curlOf(location.origin, stored)} />
            <Copy label="Copy as SDK call" text={sdkCallOf(location.origin, stored)} />
            <Replay stored={stored} disabled={facts.readOnly} />
          </div>
          <div class="bodies">
            <Body title="Request" text={stored.request} />
            <Body title="Answer" text={stored.response} />
          </div>
        </>
      )}
    </div>
  );
}

function shown(value: string | number | boolean | null | undefined): string | undefined {
  return value == null ? undefined : String(value);
}

/** The attempts before an answer came. */
function Attempts({ attempts }: { readonly attempts: readonly StoredLog[] }) {
  if (attempts.length < 2) return null;
  return (
    <Table
      label="Attempts"
      head={["Attempt", "Provider", "Model", "Status", "Took"]}
      none=""
      rows={attempts.map((one, at) => ({
        key: String(one["id"]),
        cells: [
          at + 1,
          one["provider"],
          one["model"],
          one["status_code"] ?? "no answer",
          `${String(one["duration"])} ms`,
        ],
      }))}
    />
  );
}

/** The spans of a request: the whole, its attempts from the log rows, and the forwarding of its answer. */
function spansOf(row: RequestRow, attempts: readonly StoredLog[]): Span[] {
  const { firstMs } = row;
  return [
    { name: "Request", from: 0, ms: row.ms, tone: row.status >= 400 ? "bad" : "accent" },
    ...attempts.map((one): Span => {
      const from = Math.max(0, Date.parse(String(one["created_at"])) - row.time);
      const isCached = one["cached"] === true;
      const name = isCached ? "Cache" : `${String(one["provider"])} ${String(one["model"])}`;
      const tone = one["success"] === true ? "second" : "bad";
      return { name, from, ms: Number(one["duration"]), tone };
    }),
    ...(firstMs === undefined
      ? []
      : [{ name: "Answer streams", from: firstMs, ms: row.ms - firstMs, tone: "good" } as const]),
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
    if (found.length === 0) throw new Error("No endpoint takes messages of this type");
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

/** Sends the stored request once more, and shows what comes back. */
function Replay({ stored, disabled }: { readonly stored: Stored; readonly disabled: boolean }) {
  const [answer, setAnswer] = useState<string | null>(null);
  const send = async (): Promise<void> => {
    const headers = { "content-type": "application/json", "cf-aig-skip-cache": "true" };
    const response = await ask(stored.path, { method: "POST", headers, body: stored.request });
    setAnswer(await response.text());
  };
  return (
    <>
      <Action
        label="Send again"
        confirm="It costs what it cost before."
        disabled={disabled}
        onRun={send}
      />
      {answer !== null && <Body title="Answer now" text={answer} />}
    </>
  );
}

const shownFacts = [
  "provider",
  "model",
  "tokens_in",
  "tokens_out",
  "cost",
  "cached",
  "duration",
  "status_code",
  "success",
];

function Body({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <section>
      <h3>{title}</h3>
      <pre tabIndex={0} aria-label={title}>
        {pretty(text)}
      </pre>
    </section>
  );
}

/** The log row with this id, in whichever gateway it is. */
async function readStored(id: string, account: string): Promise<Stored> {
  const root = `/client/v4/accounts/${encodeURIComponent(account)}/ai-gateway/gateways`;
  const gateways = await askResult<readonly { id: string }[]>(`${root}?per_page=50`);
  for (const { id: gateway } of gateways) {
    const path = `${root}/${encodeURIComponent(gateway)}/logs/${encodeURIComponent(id)}`;
    try {
      const log = await askResult<Stored["log"]>(path);
      const event = encodeURIComponent(String(log["event_id"] ?? ""));
      const [request, response, attempts] = await Promise.all([
        bodyAt(`${path}/request`),
        bodyAt(`${path}/response`),
        askResult<readonly StoredLog[]>(
          `${root}/${encodeURIComponent(gateway)}/logs?filters.key=event_id&filters.operator=eq&filters.value=${event}&order_by_direction=asc`,
        ).catch(() => []),
      ]);
      const provider = String(log["provider"] ?? "");
      return {
        log,
        request,
        response,
        attempts,
        path: `/v1/${account}/${gateway}/${provider}/${String(log["path"] ?? "")}`,
      };
    } catch (error) {
      if (!(error instanceof AskError) || error.status !== 404) throw error;
    }
  }
  throw new Error(
    "This request has no log row: it was refused before a provider was asked, or its row is gone.",
  );
}

async function bodyAt(path: string): Promise<string> {
  try {
    return await (await ask(path)).text();
  } catch (error) {
    if (error instanceof AskError) return error.message;
    throw error;
  }
}
