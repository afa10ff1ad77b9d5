import { duration } from "./format.ts";

/** A stretch of time within a request. */
export interface Span {
  readonly name: string;
  /** Milliseconds after the request came. */
  readonly from: number;
  readonly ms: number;
  /** Name of the style sheet's colour. */
  readonly tone: "accent" | "second" | "good" | "bad";
}

/** Spans over time, one bar below the other. Its widths are attributes: a strict policy allows no inline styles. */
export function Timeline({ spans }: { readonly spans: readonly Span[] }) {
  const end = Math.max(1e-3, ...spans.map(({ from, ms }) => from + ms));
  return (
    <section class="timeline" aria-label="Trace">
      <h3>Trace</h3>
      <ol>
        {spans.map((span, at) => (
          <li key={`${span.name} ${at}`}>
            <span class="name">{span.name}</span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect
                class={span.tone}
                x={(100 * span.from) / end}
                width={Math.max(0.6, (100 * span.ms) / end)}
                height="10"
                rx="0.5"
              />
            </svg>
            <span class="took">
              {duration(span.ms)}
              {span.from > 0 && <span class="muted"> from {duration(span.from)}</span>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
