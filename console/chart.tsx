import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

/** One line of a chart. */
export interface Line {
  readonly label: string;
  /** Name of the style sheet's colour. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  /** A description of the chart in words, for people who cannot see it. */
  readonly summary: string;
  readonly unit: string;
  /** Unix s. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** Whether the times are days. @default false */
  readonly isDaily?: boolean;
}

/** A chart of lines over time, redrawn when figures or colours change. */
export function Chart(props: ChartProps) {
  const { title, summary, unit, times, lines } = props;
  const textOf = props.isDaily === true ? dayOf : timeOfDay;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const draw = (): uPlot =>
      new uPlot(optionsOf(parent, lines, { unit, textOf }), dataOf(times, lines), parent);
    let plot = draw();
    const redraw = (): void => {
      plot.destroy();
      plot = draw();
    };
    const size = new ResizeObserver(() => {
      if (Math.abs(plot.width - parent.clientWidth) > 1) redraw();
    });
    size.observe(parent);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      size.disconnect();
      scheme.removeEventListener("change", redraw);
      theme.disconnect();
      plot.destroy();
    };
  }, [times, lines, unit, textOf]);
  return (
    <figure class="card chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="legend">
          {lines.map(({ label, colour }) => (
            <span key={label}>
              <i class={`dot ${colour}`} aria-hidden="true" />
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${summary}`} />
    </figure>
  );
}

function dataOf(times: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  return [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;
}

interface AxisTexts {
  readonly unit: string;
  /** The text of a Unix time in seconds. */
  readonly textOf: (seconds: number) => string;
}

function optionsOf(
  parent: Element,
  lines: readonly Line[],
  { unit, textOf }: AxisTexts,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  // A minute between silent ones would be a line without length.
  const isSparse = lines.every(
    ({ values }) => values.filter((value) => value !== null).length < 12,
  );
  const axis = {
    stroke: colour("muted"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(200, parent.clientWidth),
    height: 180,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] } },
    axes: [
      { ...axis, size: 28, values: (_, at) => at.map(textOf) },
      {
        ...axis,
        // The texts of small amounts of money are long.
        size: (_, texts) => Math.max(56, 18 + 7 * Math.max(0, ...(texts ?? []).map(lengthOf))),
        values: (_, at) => at.map((value) => amount(value, unit)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: name }) => ({
        label,
        stroke: colour(name),
        width: 2,
        fill: `${colour(name)}22`,
        points: { show: isSparse, size: 5, fill: colour(name) },
      })),
    ],
  };
}

function lengthOf(text: string): number {
  return text.length;
}

/** A value with its unit; a currency's sign stands first. */
function amount(value: number, unit: string): string {
  return unit === "$" ? `$${value}` : `${value}${unit}`;
}

/** Hours and minutes of a Unix time in seconds. */
function timeOfDay(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
  });
}

/** Day and month, in UTC as reports have them. */
function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  });
}
