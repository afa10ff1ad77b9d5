import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { RequestRow } from "../core/signals/requests/request-row.ts";
import { ask, serverUrl } from "./api.ts";
import { count, duration } from "./format.ts";
import { usd } from "./limit-text.ts";
import { Action, Copy, FactList, pretty, Table, useLoaded, Waiting } from "./parts.tsx";
import { curlOf, sdkCallOf } from "./snippets.ts";
import type { ShownLog } from "../core/gateway/observe/log/log-view.ts";
import type { GatewayRow } from "./log-query.ts";
import { readParts, type StoredParts } from "./stored-log.ts";
import { type Span, Timeline } from "./timeline.tsx";

interface StoredDetailProps {
  readonly row: GatewayRow;
  readonly facts: SessionFacts;
  readonly callerOf: (caller: string | null) => string;
  /** The same request as the server's own log has it. @default not known */
  readonly seen?: RequestRow;
}

/** All facts about a stored request: its reason if it failed, trace, attempts and bodies. */
export function StoredDetail({ row, facts, callerOf, seen }: StoredDetailProps) {
  const parts = useLoaded(() => readParts(row, facts.account), [row.id]);
  const { value } = parts;
  return (
    <div class="detail-body">
      {!row.success && (
        <p class="error">
          <strong>Failed:</strong> {reasonOf(row, value?.response ?? null)}
        </p>
      )}
      <FactList facts={factsOf(row, callerOf)} />
      <Waiting of={parts} />
      {value !== null && <Kept parts={value} row={row} facts={facts} seen={seen} />}
    </div>
  );
}

function factsOf(row: GatewayRow, callerOf: StoredDetailProps["callerOf"]) {
  const { tokens_in: tokensIn, tokens_out: tokensOut } = row;
  return [
    ["Log id", <span class="mono">{row.id}</span>],
    ["Event id", row.event_id],
    ["Time", new Date(row.created_at).toLocaleString("en-GB")],
    ["Gateway", row.gateway],
    ["Provider", row.provider],
    ["Model", row.model],
    ["Path", row.path],
    ["Status", row.status_code ?? "no answer"],
    ["Tokens in", tokensIn === null ? null : count(tokensIn)],
    ["Tokens out", tokensOut === null ? null : count(tokensOut)],
    ["Cost", row.cost === undefined ? null : usd(row.cost)],
    ["From the cache", row.cached ? "yes" : null],
    ["First byte", row.first_byte === null ? null : duration(row.first_byte)],
    ["Complete", duration(row.duration)],
    ["Caller", row.caller === null ? null : callerOf(row.caller)],
    ["Client", row.user_agent],
    ["Metadata", row.metadata],
    ["Parameters left out", row.dropped],
    ["Note", row.success ? row.note : null],
    ["Check", row.dlp_action],
  ] as const;
}

/** The note of a failed row, else the message of its answer. */
function reasonOf({ note, status_code: status }: ShownLog, response: string | null): string {
  if (note !== null) return note;
  const said =
    response === null ? null : /"message"\s*:\s*("(?:[^"\\]|\\.)*")/u.exec(response)?.[1];
  if (said != null) return `${status ?? ""} ${String(JSON.parse(said))}`.trim();
  return status === undefined
    ? "no answer came from the provider"
    : `the provider answered with status ${status}, or its answer broke off`;
}

interface KeptProps extends Pick<StoredDetailProps, "row" | "facts"> {
  readonly parts: StoredParts;
  readonly seen: RequestRow | undefined;
}

function Kept({ parts, row, facts, seen }: KeptProps) {
  const { attempts, path, request, response } = parts;
  return (
    <>
      <Timeline spans={spansOf(attempts, seen)} />
      <Attempts attempts={attempts} />
      {request !== null && (
        <div class="actions">
          <Copy label="Copy as curl" text={curlOf(serverUrl, { path, request })} />
          <Copy label="Copy as SDK call" text={sdkCallOf(serverUrl, { path, request })} />
          <Replay path={path} request={request} row={row} disabled={facts.readOnly} />
        </div>
      )}
      <div class="bodies">
        <Body title="Request" text={request} />
        <Body title="Answer" text={response} />
      </div>
    </>
  );
}

/** The attempts before an answer came. */
function Attempts({ attempts }: { readonly attempts: readonly ShownLog[] }) {
  if (attempts.length < 2) return null;
  return (
    <Table
      label="Attempts"
      head={["Attempt", "Provider", "Model", "Status", "First byte", "Took", "Reason"]}
      none=""
      rows={attempts.map((one, at) => ({
        key: one.id,
        cells: [
          at + 1,
          one.provider,
          one.model,
          one.status_code ?? "no answer",
          duration(one.first_byte),
          duration(one.duration),
          one.note ?? "–",
        ],
      }))}
    />
  );
}

/** The spans of a request: the whole where it is known, then each attempt and the streaming of its answer. */
function spansOf(attempts: readonly ShownLog[], seen: RequestRow | undefined): Span[] {
  const began = seen?.time ?? Date.parse(attempts[0]?.created_at ?? "");
  const whole: Span[] =
    seen === undefined
      ? []
      : [{ name: "Request", from: 0, ms: seen.ms, tone: seen.status >= 400 ? "bad" : "accent" }];
  return [
    ...whole,
    ...attempts.flatMap((one): Span[] => {
      const from = Math.max(0, Date.parse(one.created_at) - began);
      const name = one.cached ? "Cache" : `${one.provider} ${one.model}`;
      const attempt: Span = { name, from, ms: one.duration, tone: one.success ? "second" : "bad" };
      if (one.first_byte === null || one.first_byte >= one.duration) return [attempt];
      const ms = one.duration - one.first_byte;
      return [attempt, { name: "Answer streams", from: from + one.first_byte, ms, tone: "good" }];
    }),
  ];
}

interface ReplayProps {
  readonly path: string;
  readonly request: string;
  readonly row: GatewayRow;
  readonly disabled: boolean;
}

/** Sends the stored request once more, and shows what comes back. */
function Replay({ path, request, row, disabled }: ReplayProps) {
  const [answer, setAnswer] = useState<string | null>(null);
  const send = async (): Promise<void> => {
    const headers = { "content-type": "application/json", "cf-aig-skip-cache": "true" };
    const response = await ask(path, { method: "POST", headers, body: request });
    setAnswer(await response.text());
  };
  return (
    <>
      <Action
        label="Send again"
        confirm={
          row.cost === undefined || row.cost === 0
            ? "The provider is asked once more."
            : `It cost ${usd(row.cost)} before.`
        }
        disabled={disabled}
        onRun={send}
      />
      {answer !== null && <Body title="Answer now" text={answer} />}
    </>
  );
}

function Body({ title, text }: { readonly title: string; readonly text: string | null }) {
  return (
    <section>
      <h3>{title}</h3>
      {text === null ? (
        <p class="muted">Not kept.</p>
      ) : (
        <pre tabIndex={0} aria-label={title}>
          {pretty(text)}
        </pre>
      )}
    </section>
  );
}
