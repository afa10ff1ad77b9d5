import { useMemo } from "preact/hooks";
import type { MinuteFigures } from "../core/console/feed.ts";
import type { ActorNode } from "../core/ports.ts";
import { Chart } from "./chart.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { count, duration, quantile } from "./format.ts";
import { HiddenParts } from "./hidden-parts.tsx";
import { usd } from "./limit-text.ts";
import type { Overview } from "./live.ts";
import type { PageProps } from "./parts.tsx";

const MINUTES = 60;

interface Sums {
  readonly requests: number;
  readonly failed: number;
  readonly refused: number;
  readonly buckets: readonly number[];
}

function sumOf(minutes: readonly MinuteFigures[]): Sums {
  const buckets: number[] = [];
  let [requests, failed, refused] = [0, 0, 0];
  for (const minute of minutes) {
    requests += minute.totals.count;
    failed += minute.failed;
    refused += minute.refused;
    for (const [at, inside] of minute.totals.buckets.entries())
      buckets[at] = (buckets[at] ?? 0) + inside;
  }
  return { requests, failed, refused, buckets };
}

/** The last hour at a glance: requests, errors, durations, tokens, and the state of every part. */
export function OverviewPage({ live, facts }: PageProps) {
  const { overview } = live;
  if (overview === null) return <p class="muted">Waiting for the first figures …</p>;
  const { health, history, nodes } = overview;
  return (
    <>
      <HiddenParts live={live} facts={facts} />
      <FirstSteps facts={facts} />
      {history !== null && <Figures overview={overview} history={history} />}
      <section aria-labelledby="parts-title">
        <h2 id="parts-title">Parts</h2>
        <div class="parts">
          {Object.entries(health).map(([part, { status, reason }]) => (
            <div class="card part" key={part}>
              <span class={`state ${status}`}>{status}</span>
              <strong>{part}</strong>
              {reason !== undefined && <p>{reason}</p>}
            </div>
          ))}
        </div>
      </section>
      {nodes !== null && <Servers nodes={nodes} />}
      {history !== null && <ByPart history={history} />}
    </>
  );
}

/** The servers that share the database. */
function Servers({ nodes }: { readonly nodes: readonly ActorNode[] }) {
  return (
    <section aria-labelledby="servers-title">
      <h2 id="servers-title">Servers</h2>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="servers-title">
        <table>
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">Machine</th>
              <th scope="col">Version</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Slots
              </th>
              <th scope="col" class="number">
                Work behind
              </th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node) => (
              <tr key={node.id}>
                <th scope="row">{node.address}</th>
                <td>{node.machine}</td>
                <td>{node.version}</td>
                <td>
                  <span
                    class={`state ${node.lives && node.refusal === null ? "ready" : "unavailable"}`}
                  >
                    {stateOf(node)}
                  </span>
                </td>
                <td class="number">{count(node.slots)}</td>
                <td class="number">{duration(node.lagMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function stateOf({ lives, refusal, renewedMsAgo }: ActorNode): string {
  if (refusal !== null) return `refused: ${refusal}`;
  return lives ? "lives" : `gone for ${duration(renewedMsAgo)}`;
}

function Figures({
  overview: { now, usage },
  history,
}: {
  readonly overview: Overview;
  readonly history: readonly MinuteFigures[];
}) {
  const all = useMemo(() => sumOf(history), [history]);
  const series = useMemo(() => seriesOf(history, now), [history, now]);
  const p50 = duration(quantile(all.buckets, 0.5));
  const p95 = duration(quantile(all.buckets, 0.95));
  const errors = all.failed + all.refused;
  return (
    <>
      <div class="tiles">
        <Tile label="Requests, last hour" value={count(all.requests)} />
        <Tile
          label="Errors, last hour"
          value={count(errors)}
          note={`${count(all.refused)} refused, ${count(all.failed)} failed`}
          tone={all.failed > 0 ? "bad" : undefined}
        />
        <Tile label="Duration p50" value={p50} />
        <Tile label="Duration p95" value={p95} />
        {usage !== null && (
          <>
            <Tile
              label="Tokens"
              value={count(usage.tokensIn + usage.tokensOut)}
              note={`${count(usage.tokensIn)} in, ${count(usage.tokensOut)} out`}
            />
            <Tile
              label="Cost"
              value={usage.usd === 0 ? "$0" : usd(usage.usd)}
              note="as far as prices are known"
            />
          </>
        )}
      </div>
      <div class="charts">
        <Chart
          title="Requests per minute"
          summary={`${all.requests} in the last hour, ${errors} of them errors`}
          unit=""
          times={series.times}
          lines={series.requests}
        />
        <Chart
          title="Duration"
          summary={`half of them below ${p50}, 95 % below ${p95}`}
          unit=" ms"
          times={series.times}
          lines={series.durations}
        />
      </div>
    </>
  );
}

function Tile(props: {
  readonly label: string;
  readonly value: string;
  readonly note?: string;
  readonly tone?: string | undefined;
}) {
  return (
    <div class="card tile">
      <span class="muted">{props.label}</span>
      <span class={`value ${props.tone ?? ""}`}>{props.value}</span>
      {props.note !== undefined && <span class="muted small">{props.note}</span>}
    </div>
  );
}

function ByPart({ history }: { readonly history: readonly MinuteFigures[] }) {
  const parts = [...new Set(history.map(({ part }) => part))].toSorted();
  if (parts.length === 0)
    return <p class="muted">No request in the last hour. Send one from the playground.</p>;
  return (
    <section aria-labelledby="by-part-title">
      <h2 id="by-part-title">Last hour by part</h2>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="by-part-title">
        <table>
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col" class="number">
                Refused
              </th>
              <th scope="col" class="number">
                Failed
              </th>
              <th scope="col" class="number">
                p50
              </th>
              <th scope="col" class="number">
                p95
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => {
              const own = sumOf(history.filter((minute) => minute.part === part));
              return (
                <tr key={part}>
                  <th scope="row">{part === "none" ? "unknown paths" : part}</th>
                  <td class="number">{count(own.requests)}</td>
                  <td class="number">{count(own.refused)}</td>
                  <td class="number">{count(own.failed)}</td>
                  <td class="number">{duration(quantile(own.buckets, 0.5))}</td>
                  <td class="number">{duration(quantile(own.buckets, 0.95))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function seriesOf(history: readonly MinuteFigures[], now: number) {
  const last = now - (now % 60_000);
  const starts = Array.from({ length: MINUTES }, (_, at) => last - (MINUTES - 1 - at) * 60_000);
  const sums = starts.map((start) => sumOf(history.filter(({ at }) => at === start)));
  return {
    times: starts.map((start) => start / 1000),
    requests: [
      { label: "all", colour: "accent", values: sums.map(({ requests }) => requests) },
      {
        label: "errors",
        colour: "bad",
        values: sums.map(({ failed, refused }) => failed + refused),
      },
    ],
    durations: [
      {
        label: "p95",
        colour: "second",
        values: sums.map(({ buckets }) => quantile(buckets, 0.95)),
      },
      { label: "p50", colour: "accent", values: sums.map(({ buckets }) => quantile(buckets, 0.5)) },
    ],
  };
}
