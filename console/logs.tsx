import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, AskError, askResult, type Facts } from "./api.ts";
import { clock, duration, size } from "./format.ts";
import type { Live, RequestRow } from "./live.ts";
import { Action, Copy, FactList, messageOf, pretty, Table } from "./parts.tsx";

/** Rows that are shown at once. */
const SHOWN = 200;

/** Every request as it comes, newest first; a row opens what is known of it. */
export function LogsPage({ live, facts }: { readonly live: Live; readonly facts: Facts }) {
  const [text, setText] = useState("");
  const [part, setPart] = useState("");
  const [status, setStatus] = useState("");
  const [held, setHeld] = useState<readonly RequestRow[] | null>(null);
  const [openId, setOpenId] = useState<string | null>(null);
  const rows = held ?? live.rows;
  const parts = useMemo(
    () => [...new Set(live.rows.map((row) => row.part))].toSorted(),
    [live.rows],
  );
  const found = rows.filter((row) => fits(row, text, part, status));
  return (
    <>
      <form
        class="filters"
        role="search"
        aria-label="Filter requests"
        onSubmit={(event) => event.preventDefault()}
      >
        <label>
          Search
          <input
            type="search"
            value={text}
            placeholder="route, id, caller, reason"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label>
          Part
          <select value={part} onChange={(event) => setPart(event.currentTarget.value)}>
            <option value="">all</option>
            {parts.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Status
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="">all</option>
            <option value="2">served (2xx)</option>
            <option value="4">refused (4xx)</option>
            <option value="5">failed (5xx)</option>
          </select>
        </label>
        <button
          type="button"
          aria-pressed={held !== null}
          onClick={() => setHeld(held === null ? live.rows : null)}
        >
          {held === null ? "Pause" : "Resume"}
        </button>
      </form>
      <p class="muted small" role="status">
        {held !== null ? "Paused. " : ""}
        {found.length === 0
          ? "No request fits."
          : `${Math.min(found.length, SHOWN)} of ${rows.length} requests`}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Requests, newest first">
        <table class="log">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Status</th>
              <th scope="col">Request</th>
              <th scope="col">Part</th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Caller</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, SHOWN).map((row) => (
              <Row
                key={row.id + row.time}
                row={row}
                facts={facts}
                isOpen={openId === row.id}
                onToggle={() => setOpenId(openId === row.id ? null : row.id)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function fits(row: RequestRow, text: string, part: string, status: string): boolean {
  if (part !== "" && row.part !== part) return false;
  if (status !== "" && !String(row.status).startsWith(status)) return false;
  const words = [row.route, row.id, row.caller, row.reason, row.method, row.error]
    .join(" ")
    .toLowerCase();
  return words.includes(text.trim().toLowerCase());
}

interface RowProps {
  readonly row: RequestRow;
  readonly facts: Facts;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Row({ row, facts, isOpen, onToggle }: RowProps) {
  const tone = row.status >= 500 ? "bad" : row.status >= 400 ? "warn" : "good";
  return (
    <>
      <tr>
        <td class="nowrap">{clock(row.time)}</td>
        <td>
          <span class={`status ${tone}`}>{row.status}</span>
        </td>
        <td>
          <button type="button" class="link" aria-expanded={isOpen} onClick={onToggle}>
            {row.method} {row.route}
          </button>
          {row.reason !== undefined && <span class="reason">{row.reason}</span>}
        </td>
        <td>{row.part}</td>
        <td class="number">{duration(row.ms)}</td>
        <td class="number">{size(row.bytes)}</td>
        <td class="mono">{row.caller ?? "–"}</td>
      </tr>
      {isOpen && (
        <tr class="detail">
          <td colSpan={7}>
            <Detail row={row} facts={facts} />
          </td>
        </tr>
      )}
    </>
  );
}

/** The members of a log row that are shown: texts, numbers and truths. */
type StoredLog = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** What the gateway stored of a request. */
interface Stored {
  readonly log: StoredLog;
  readonly request: string;
  readonly response: string;
  readonly path: string;
  /** All rows of the request, in their order. */
  readonly attempts: readonly StoredLog[];
}

function Detail({ row, facts }: { readonly row: RequestRow; readonly facts: Facts }) {
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
      {isGateway && stored === null && <p class="muted">Looking for the log row …</p>}
      {typeof stored === "string" && <p class="muted">{stored}</p>}
      {isStored && (
        <>
          <Attempts attempts={stored.attempts} />
          <div class="actions">
            <Copy label="Copy as curl" text={curlOf(stored)} />
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

/** What was tried before an answer came. */
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

function curlOf({ path, request }: Stored): string {
  const word = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return [
    `curl ${location.origin}${path}`,
    '-H "cf-aig-authorization: Bearer $CAUSEY_TOKEN"',
    "-H 'Content-Type: application/json'",
    `-d ${word(request)}`,
  ].join(" \\\n  ");
}
