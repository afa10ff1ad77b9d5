import { toHex, utf8 } from "../../crypto/encoding.ts";
import {
  readTraceparent,
  type TraceContext,
  type Tracer,
  writeTraceparent,
} from "../../trace/trace-context.ts";
import type { Log, Platform, Transport } from "../../ports.ts";
import { withinMs } from "../../time/within-ms.ts";
import { VERSION } from "../../version.ts";
import type { RequestRow } from "../requests/request-row.ts";
import {
  attributes,
  logRecord,
  type OtlpRecord,
  type OtlpSpanPlace,
  partSpan,
  serverSpan,
} from "./otlp-records.ts";
import { requestDurations } from "./request-durations.ts";
import type { OtlpSettings, OtlpSignal, OtlpTarget } from "./otlp-settings.ts";

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
        take(span: object): void;
      }
    | undefined;
  /** Writes to a log, and takes the line. */
  log(log: Log): Log;
  /** Sends everything that is pending. */
  flush(): Promise<void>;
}

/** Most spans, and lines, that wait; further ones are dropped and counted. */
const WAITING = 4000;
/** The pauses before a batch is sent again, in ms. */
const RETRIES = [500, 2000];
/** Milliseconds after which a planned export counts as lost: a runtime may end a request's background work. */
const OVERDUE = 60_000;

/** Makes the export of a platform. */
export function otlpExport(platform: Platform, settings: OtlpSettings): OtlpExport {
  const { system } = platform;
  const { targets } = settings;
  const durations = requestDurations(platform, settings);
  const waiting: Record<"traces" | "logs", OtlpRecord[]> = { traces: [], logs: [] };
  const sink = collectorSink(platform, settings);
  let dropped = 0;
  let plannedAt = Number.NEGATIVE_INFINITY;
  const flush = async (): Promise<void> => {
    const [spans, lines] = [waiting.traces.splice(0), waiting.logs.splice(0)];
    await Promise.all([
      sink("traces", spans),
      sink("metrics", durations.due()),
      sink("logs", lines),
    ]);
    if (dropped === 0) return;
    platform.log("warn", "Telemetry was dropped: there was too much at once", { count: dropped });
    dropped = 0;
  };
  const plan = (): void => {
    const now = system.monotonic();
    if (now - plannedAt < OVERDUE) return;
    plannedAt = now;
    system.waitUntil(run());
  };
  const run = async (): Promise<void> => {
    await system.sleep(settings.delay, system.closing).catch(() => undefined);
    plannedAt = Number.NEGATIVE_INFINITY;
    await flush();
    // Requests within the interval of the last metrics would otherwise wait for the next request, which may never come.
    if (durations.hasNews() && system.closing?.aborted !== true) plan();
  };
  const take = (kind: "traces" | "logs", record: OtlpRecord): void => {
    if (targets[kind] === undefined) return;
    if (waiting[kind].length >= WAITING) dropped += 1;
    else waiting[kind].push(record);
    plan();
  };
  return {
    request(row, place) {
      if (targets.metrics !== undefined) {
        durations.add(row);
        plan();
      }
      // The gateway exports its own spans, with models and their answers.
      if (place?.isSampled === true && !row.route.startsWith("/v1/"))
        take("traces", serverSpan(row, place));
    },
    ...tracing(settings, system, (span) => take("traces", span)),
    log: (log) => (level, message, fields) => {
      log(level, message, fields);
      if (level !== "debug") take("logs", logRecord(level, message, fields ?? {}, system.now()));
    },
    flush,
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

/** The tracing part of the export: begins and takes spans. */
function tracing(
  settings: OtlpSettings,
  system: Platform["system"],
  take: (span: OtlpRecord) => void,
): Pick<OtlpExport, "begin" | "tracer" | "spans"> {
  if (settings.targets.traces === undefined)
    return { begin: () => null, tracer: undefined, spans: undefined };
  return {
    begin: (traceparent) => placeBelow(readTraceparent(traceparent), settings, system),
    tracer: tracerOf(settings, system, take),
    spans: {
      keeps: (traceId, parent) => isKept(traceId, parent, settings),
      take: (span) => take({ ...span }),
    },
  };
}

/** The tracer of the parts' own work. */
function tracerOf(
  settings: OtlpSettings,
  system: Platform["system"],
  take: (span: OtlpRecord) => void,
): Tracer {
  return {
    begin(parent) {
      const place = placeBelow(parent, settings, system);
      const [time, began] = [system.now(), system.monotonic()];
      return {
        traceparent: writeTraceparent(place),
        end(facts) {
          const span = { ...facts, time, ms: system.monotonic() - began };
          if (place.isSampled) take(partSpan(span, place));
        },
      };
    },
  };
}

type Sink = (signal: OtlpSignal, records: readonly OtlpRecord[]) => Promise<void>;

function collectorSink(platform: Platform, { targets, resource }: OtlpSettings): Sink {
  const about = {
    attributes: attributes({
      ...resource,
      "service.version": VERSION,
      "service.instance.id": platform.system.id(),
      "telemetry.sdk.name": "causey",
      "telemetry.sdk.language": "webjs",
    }),
  };
  const scope = { name: "causey", version: VERSION };
  const bodies: Readonly<Record<OtlpSignal, (records: readonly OtlpRecord[]) => OtlpRecord>> = {
    traces: (spans) => ({ resourceSpans: [{ resource: about, scopeSpans: [{ scope, spans }] }] }),
    metrics: (metrics) => ({
      resourceMetrics: [{ resource: about, scopeMetrics: [{ scope, metrics }] }],
    }),
    logs: (logRecords) => ({
      resourceLogs: [{ resource: about, scopeLogs: [{ scope, logRecords }] }],
    }),
  };
  return async (signal, records) => {
    const target = targets[signal];
    if (target === undefined || records.length === 0) return;
    const body = utf8(JSON.stringify(bodies[signal](records)));
    const failure = await send(target, body, platform);
    if (failure === null) return;
    // The host alone: paths and queries of collectors can hold keys.
    const { host } = new URL(target.url);
    platform.log("warn", "Telemetry could not be exported", {
      signal,
      host,
      reason: failure,
      count: records.length,
    });
  };
}

/** Sends a batch, with retries; resolves to the reason of a failure, or null. */
async function send(
  target: OtlpTarget,
  body: Uint8Array,
  platform: Platform,
): Promise<string | null> {
  const { system, transport } = platform;
  let reason = "";
  for (const pause of [...RETRIES, null]) {
    const status = await post(target, body, transport, system).catch(() => null);
    if (status !== null && status < 300) return null;
    reason = status === null ? "no answer" : `status ${status}`;
    const isRetryable = status === null || [429, 502, 503, 504].includes(status);
    if (!isRetryable || pause === null || system.closing?.aborted === true) return reason;
    await system.sleep(pause, system.closing).catch(() => undefined);
  }
  return reason;
}

async function post(
  { url, headers, timeout }: OtlpTarget,
  body: Uint8Array,
  transport: Transport,
  system: Platform["system"],
): Promise<number> {
  const ask = async (signal: AbortSignal): Promise<number> => {
    const response = await transport.send({
      method: "POST",
      url,
      headers: [
        ["content-type", "application/json"],
        ...headers.map(([name, value]): [string, string] => [name, value.reveal()]),
      ],
      body,
      signal,
    });
    if (response.body instanceof ReadableStream)
      await response.body.cancel().catch(() => undefined);
    return response.status;
  };
  return withinMs(timeout, undefined, ask, system);
}
