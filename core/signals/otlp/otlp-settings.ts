import { type ApiError, invalidOptions } from "../../http/api-error.ts";
import { secret, type HiddenText } from "../../crypto/secret.ts";

/** A kind of telemetry. */
export type OtlpSignal = "traces" | "metrics" | "logs";

/** The destination of one kind of signal. */
export interface OtlpTarget {
  readonly url: string;
  /** They hold keys. */
  readonly headers: readonly (readonly [name: string, value: HiddenText])[];
  /** Milliseconds. */
  readonly timeout: number;
}

/** The exported signals and their destinations. */
export interface OtlpSettings {
  readonly targets: Readonly<Partial<Record<OtlpSignal, OtlpTarget>>>;
  /** Attributes of this program, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>;
  /** Share of new traces that are kept; traces that callers began are kept as they say, unless `ignoresParent`. */
  readonly ratio: number;
  readonly ignoresParent: boolean;
  /** Milliseconds for which spans and lines may wait, and between two exports of metrics. */
  readonly delay: number;
  readonly metricInterval: number;
}

type Read = (name: string) => string | undefined;

/**
 * Reads the standard variables (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/);
 * null if they ask for nothing. Throws 400 for an invalid value.
 *
 * @example
 * ```ts
 * import { otlpSettings } from "causey";
 *
 * const variables: Record<string, string> = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" };
 * otlpSettings((name) => variables[name])?.targets.traces?.url; // → "http://localhost:4318/v1/traces"
 * ```
 */
export function otlpSettings(env: Read): OtlpSettings | null {
  const read: Read = (name) => env(name)?.trim() || undefined;
  if (read("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return null;
  const targets: Partial<Record<OtlpSignal, OtlpTarget>> = {};
  for (const signal of ["traces", "metrics", "logs"] as const) {
    const target = targetOf(signal, read);
    if (target !== null) targets[signal] = target;
  }
  if (Object.keys(targets).length === 0) return null;
  return {
    targets,
    resource: resourceOf(read),
    ...samplerOf(read),
    delay: wholeOf(read, "OTEL_BSP_SCHEDULE_DELAY", 5000),
    metricInterval: wholeOf(read, "OTEL_METRIC_EXPORT_INTERVAL", 60_000),
  };
}

function targetOf(signal: OtlpSignal, read: Read): OtlpTarget | null {
  const upper = signal.toUpperCase();
  const exporter = read(`OTEL_${upper}_EXPORTER`) ?? "otlp";
  if (exporter === "none") return null;
  if (exporter !== "otlp") throw wrong(`OTEL_${upper}_EXPORTER`, '"otlp" or "none"', exporter);
  const of = (name: string): string | undefined =>
    read(`OTEL_EXPORTER_OTLP_${upper}_${name}`) ?? read(`OTEL_EXPORTER_OTLP_${name}`);
  const own = read(`OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`);
  const base = read("OTEL_EXPORTER_OTLP_ENDPOINT");
  // The common address is a base, the own one is taken as it is.
  const url = own ?? (base === undefined ? undefined : `${base.replace(/\/+$/, "")}/v1/${signal}`);
  if (url === undefined) return null;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw wrong("OTEL_EXPORTER_OTLP_ENDPOINT", "an http(s) address", url);
  // A collector takes JSON where it takes protobuf; gRPC is another port.
  if (of("PROTOCOL") === "grpc")
    throw wrong("OTEL_EXPORTER_OTLP_PROTOCOL", '"http/json" or "http/protobuf"', "grpc");
  return {
    url,
    headers: pairsOf(of("HEADERS") ?? "").map(([name, value]) => [
      name.toLowerCase(),
      secret(value),
    ]),
    timeout: wholeOf(
      (name) => of(name.replace("OTEL_EXPORTER_OTLP_", "")),
      "OTEL_EXPORTER_OTLP_TIMEOUT",
      10_000,
    ),
  };
}

function resourceOf(read: Read): Record<string, string> {
  const given = Object.fromEntries(pairsOf(read("OTEL_RESOURCE_ATTRIBUTES") ?? ""));
  const name = read("OTEL_SERVICE_NAME") ?? given["service.name"] ?? "causey";
  return { ...given, "service.name": name };
}

/** `name=value,name=value`, percent-encoded (W3C Baggage). */
function pairsOf(text: string): [name: string, value: string][] {
  return text.split(",").flatMap((pair): [string, string][] => {
    const at = pair.indexOf("=");
    if (at <= 0) return [];
    const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    try {
      return [[decodeURIComponent(name), decodeURIComponent(value)]];
    } catch {
      return [[name, value]];
    }
  });
}

function samplerOf(read: Read): Pick<OtlpSettings, "ratio" | "ignoresParent"> {
  const named = read("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const ratioText = read("OTEL_TRACES_SAMPLER_ARG") ?? "1";
  const asked = named.replace(/^parentbased_/, "");
  const ratio = { always_on: 1, always_off: 0, traceidratio: Number(ratioText) }[asked];
  if (ratio === undefined)
    throw wrong(
      "OTEL_TRACES_SAMPLER",
      '"always_on", "always_off" or "traceidratio", also after "parentbased_"',
      named,
    );
  if (!(ratio >= 0 && ratio <= 1))
    throw wrong("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1", ratioText);
  return { ratio, ignoresParent: asked === named };
}

function wholeOf(read: Read, name: string, fallback: number): number {
  const text = read(name);
  if (text === undefined) return fallback;
  if (!/^\d{1,9}$/.test(text)) throw wrong(name, "milliseconds", text);
  return Number(text);
}

function wrong(name: string, expected: string, got: string): ApiError {
  return invalidOptions(`${name}: expected ${expected}, got "${got.slice(0, 100)}"`);
}
