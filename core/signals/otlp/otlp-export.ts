import { toHex } from "../../crypto/encoding.ts";
import {
  readTraceparent,
  type TraceContext,
  type Tracer,
  writeTraceparent,
} from "../../trace/trace-context.ts";
import type { Log, Platform } from "../../ports.ts";
import {
  attributes,
  type Facts,
  type OtlpRecord,
  type Span,
  spansBody,
} from "../../trace/otlp-json.ts";
import { otlpQueue, type OtlpQueue } from "../../trace/otlp-queue.ts";
import { VERSION } from "../../version.ts";
import type { TakeSpan } from "../../trace/part-log.ts";
import type { RequestRow } from "../requests/request-row.ts";
import { logRecord, type OtlpSpanPlace, partSpan, serverSpan } from "./otlp-records.ts";
import { requestDurations } from "./request-durations.ts";
import type { OtlpSettings, OtlpSignal } from "./otlp-settings.ts";

/** Hands telemetry to a collector, off the path of requests. */
export interface OtlpExport {
  /** Begins the span of a request, below the trace that its caller names; null where traces go nowhere. */
  begin(traceparent: string | null): OtlpSpanPlace | null;
  /** Takes a request; its place is null for the gateway, which exports its own spans. */
  request(row: RequestRow, place: OtlpSpanPlace | null): void;
  /** Takes the spans of the parts' own work; undefined where traces go nowhere. */
  readonly tracer: Tracer | undefined;
  /** Takes the gateway's spans; undefined where traces go nowhere. */
  readonly spans:
    | {
        /** Whether a trace is kept; `parent` is the caller's decision, null = none. */
        keeps(traceId: string, parent: boolean | null): boolean;
        take(span: Span, parent: boolean | null): void;
      }
    | undefined;
  /** Writes to a log, and takes the line. */
  log(log: Log): Log;
}

/** Most spans, and lines, that wait or are on their way; further ones are dropped and counted. */
const WAITING = 4000;

/** Settings that send nothing anywhere: spans are made for their taker alone. */
export const NO_EXPORT: OtlpSettings = {
  targets: {},
  resource: {},
  ratio: 0,
  ignoresParent: false,
  delay: 0,
  metricInterval: 0,
};

/** Makes the export of a platform; `onSpan` also takes each span that ends, whether its trace is kept or not. */
export function otlpExport(
  platform: Platform,
  settings: OtlpSettings,
  onSpan?: TakeSpan,
): OtlpExport {
  const { system } = platform;
  const durations = requestDurations(platform, settings);
  const queueOf = queues(platform, settings);
  const [traces, logs] = [queueOf("traces"), queueOf("logs")];
  const take: TakeFinished = (span, part, isSampled) => {
    if (isSampled) traces?.push("traces", span);
    onSpan?.(span, part);
  };
  const metrics = queueOf("metrics", (queue) => {
    for (const metric of durations.due()) queue.push("metrics", metric);
    // Requests within the interval of the last metrics would otherwise wait for the next request, which may never come.
    return durations.hasNews();
  });
  return {
    request(row, place) {
      if (metrics !== undefined) {
        durations.add(row);
        metrics.plan();
      }
      // The gateway exports its own spans, with models and their answers.
      if (place !== null && !row.route.startsWith("/v1/"))
        take(serverSpan(row, place), row.part, place.isSampled);
    },
    ...(traces === undefined && onSpan === undefined
      ? { begin: () => null, tracer: undefined, spans: undefined }
      : tracing(traces === undefined ? { ...settings, ratio: 0 } : settings, system, take)),
    log: (log) => (level, message, fields) => {
      log(level, message, fields);
      if (level !== "debug")
        logs?.push("logs", logRecord(level, message, fields ?? {}, system.now()));
    },
  };
}

/** Whether a trace is kept; `parent` is the caller's decision, null = none. */
function isKept(
  traceId: string,
  parent: boolean | null,
  { ratio, ignoresParent }: OtlpSettings,
): boolean {
  if (parent !== null && !ignoresParent) return parent;
  // The same share of traces in every program: by the last digits, as the specification says.
  return Number.parseInt(traceId.slice(-8), 16) / 2 ** 32 < ratio;
}

/** The place of a new span below another one (W3C Trace Context). */
function placeBelow(
  parent: TraceContext | null,
  settings: OtlpSettings,
  system: Platform["system"],
): OtlpSpanPlace {
  const traceId = parent?.traceId ?? toHex(system.random(16));
  return {
    traceId,
    spanId: toHex(system.random(8)),
    parentSpanId: parent?.spanId ?? null,
    isSampled: isKept(traceId, parent?.isSampled ?? null, settings),
  };
}

/** Takes a span that has ended; `isSampled` says whether its trace is kept. */
type TakeFinished = (span: Span, part: string, isSampled: boolean) => void;

/** The tracing part of the export: begins and takes spans. */
function tracing(
  settings: OtlpSettings,
  system: Platform["system"],
  take: TakeFinished,
): Pick<OtlpExport, "begin" | "tracer" | "spans"> {
  return {
    begin: (traceparent) => placeBelow(readTraceparent(traceparent), settings, system),
    tracer: tracerOf(settings, system, take),
    spans: {
      keeps: (traceId, parent) => isKept(traceId, parent, settings),
      take: (span, parent) => take(span, "gateway", isKept(span.traceId, parent, settings)),
    },
  };
}

/** The tracer of the parts' own work. */
function tracerOf(settings: OtlpSettings, system: Platform["system"], take: TakeFinished): Tracer {
  return {
    begin(parent) {
      const place = placeBelow(parent, settings, system);
      const [time, began] = [system.now(), system.monotonic()];
      return {
        traceparent: writeTraceparent(place),
        end(facts) {
          const span = { ...facts, time, ms: system.monotonic() - began };
          take(partSpan(span, place), String(facts.attributes["causey.part"]), place.isSampled);
        },
      };
    },
  };
}

type Queue = OtlpQueue<OtlpSignal, OtlpRecord>;

/** Makes the queue of a signal; undefined where it goes nowhere. */
type QueueOf = (signal: OtlpSignal, onFlush?: (queue: Queue) => boolean) => Queue | undefined;

function queues(platform: Platform, { targets, resource, delay }: OtlpSettings): QueueOf {
  const { actors, system, transport, log } = platform;
  const about: Facts = [
    ...Object.entries(resource),
    ["service.version", VERSION],
    ["service.instance.id", actors.nodes?.own ?? system.id()],
    ["telemetry.sdk.name", "causey"],
    ["telemetry.sdk.language", "webjs"],
  ];
  const scope = { name: "causey", version: VERSION };
  const bodies: Readonly<Record<OtlpSignal, (records: readonly OtlpRecord[]) => OtlpRecord>> = {
    traces: (spans) => spansBody(about, scope, spans),
    metrics: (metrics) => ({
      resourceMetrics: [
        { resource: { attributes: attributes(about) }, scopeMetrics: [{ scope, metrics }] },
      ],
    }),
    logs: (logRecords) => ({
      resourceLogs: [
        { resource: { attributes: attributes(about) }, scopeLogs: [{ scope, logRecords }] },
      ],
    }),
  };
  return (signal, onFlush) => {
    const target = targets[signal];
    if (target === undefined) return undefined;
    const queue: Queue = otlpQueue({
      system,
      transport,
      interval: delay,
      batch: WAITING,
      capacity: WAITING,
      keyOf: () => signal,
      collectorOf: () => ({
        ...target,
        headers: target.headers.map(([name, value]) => [name, value.reveal()]),
      }),
      bodyOf: (_, records) => bodies[signal](records),
      onFlush: () => onFlush?.(queue) === true,
      onFailure(_, count, reason) {
        // The host alone: paths and queries of collectors can hold keys.
        const { host } = new URL(target.url);
        log("warn", "Telemetry could not be exported", { signal, host, reason, count });
      },
      onOverflow(count) {
        log("warn", "Telemetry was dropped: there was too much at once", { count });
      },
    });
    return queue;
  };
}
