import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, AskError, askResult } from "./api.ts";
import { clock, duration, size } from "./format.ts";
import type { Live, RequestRow } from "./live.ts";

/** Rows that are shown at once. */
const SHOWN = 200;

/** Every request as it comes, newest first; a row opens what is known of it. */
export function LogsPage({ live, account }: { readonly live: Live; readonly account: string }) {
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
                account={account}
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
  readonly account: string;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Row({ row, account, isOpen, onToggle }: RowProps) {
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
            <Detail row={row} account={account} />
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
}

function Detail({ row, account }: { readonly row: RequestRow; readonly account: string }) {
  const [stored, setStored] = useState<Stored | string | null>(null);
  const isGateway = row.route.startsWith("/v1/");
  useEffect(() => {
    if (!isGateway) return;
    readStored(row.id, account).then(setStored, (error: unknown) =>
      setStored(error instanceof Error ? error.message : String(error)),
    );
  }, [row.id]);
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Request id", row.id],
    ["Time", new Date(row.time).toISOString()],
    ["First byte", row.firstMs === undefined ? undefined : duration(row.firstMs)],
    ["Complete", duration(row.ms)],
    ["Error", row.error],
    ["Reason", row.reason],
  ];
  return (
    <div class="detail-body">
      <dl>
        {facts.map(([name, value]) =>
          value === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
        {typeof stored === "object" && stored !== null && <StoredFacts log={stored.log} />}
      </dl>
      {isGateway && stored === null && <p class="muted">Looking for the log row …</p>}
      {typeof stored === "string" && <p class="muted">{stored}</p>}
      {typeof stored === "object" && stored !== null && (
        <>
          <Copy label="Copy as curl" text={curlOf(stored)} />
          <div class="bodies">
            <Body title="Request" text={stored.request} />
            <Body title="Answer" text={stored.response} />
          </div>
        </>
      )}
    </div>
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

function StoredFacts({ log }: { readonly log: StoredLog }) {
  return (
    <>
      {shownFacts.map((name) =>
        log[name] == null ? null : (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>{String(log[name])}</dd>
          </div>
        ),
      )}
    </>
  );
}

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

/** A button that copies a text, and says that it did. */
export function Copy({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard?.writeText(text).then(() => setCopied(true));
  };
  return (
    <button type="button" onClick={copy}>
      {isCopied ? "Copied" : label}
    </button>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The log row with this id, in whichever gateway it is. */
async function readStored(id: string, account: string): Promise<Stored> {
  const root = `/client/v4/accounts/${encodeURIComponent(account)}/ai-gateway/gateways`;
  const gateways = await askResult<readonly { id: string }[]>(`${root}?per_page=50`);
  for (const { id: gateway } of gateways) {
    const path = `${root}/${encodeURIComponent(gateway)}/logs/${encodeURIComponent(id)}`;
    try {
      const log = await askResult<Stored["log"]>(path);
      const [request, response] = await Promise.all([
        bodyAt(`${path}/request`),
        bodyAt(`${path}/response`),
      ]);
      const provider = String(log["provider"] ?? "");
      return {
        log,
        request,
        response,
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
