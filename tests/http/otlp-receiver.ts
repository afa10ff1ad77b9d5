import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import root from "@opentelemetry/otlp-transformer/build/src/generated/root.js";

type Fields = Readonly<Record<string, unknown>>;

/** What the generated code has for a message. */
interface Message {
  fromObject(json: Fields): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: { longs: typeof String; bytes: typeof String }): Fields;
}

// `as`: the package's types do not tell what was generated.
const { collector } = (
  root as unknown as {
    opentelemetry: {
      proto: {
        collector: {
          trace: { v1: { ExportTraceServiceRequest: Message } };
          metrics: { v1: { ExportMetricsServiceRequest: Message } };
          logs: { v1: { ExportLogsServiceRequest: Message } };
        };
      };
    };
  }
).opentelemetry.proto;

/** The messages of the published protocol by the path that they are sent to. */
const messages = {
  "/v1/traces": collector.trace.v1.ExportTraceServiceRequest,
  "/v1/metrics": collector.metrics.v1.ExportMetricsServiceRequest,
  "/v1/logs": collector.logs.v1.ExportLogsServiceRequest,
} as const;

/** What a collector is sent to. */
export type SignalPath = keyof typeof messages;

/** A collector that takes what the protocol allows and nothing else. */
export interface OtlpReceiver {
  readonly url: string;
  /** What was taken, in its JSON form. */
  readonly taken: Readonly<Record<SignalPath, readonly Fields[]>>;
  /** Why requests were refused. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

/** Starts a collector for OTLP as JSON on a free port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const taken: Record<SignalPath, Fields[]> = {
    "/v1/traces": [],
    "/v1/metrics": [],
    "/v1/logs": [],
  };
  const refused: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      try {
        if (!isSignal(path)) throw new Error(`Nothing is sent to ${path}`);
        if (request.headers["content-type"] !== "application/json")
          throw new Error(`${path} is sent as ${request.headers["content-type"] ?? "nothing"}`);
        const json = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Fields;
        checkMessage(path, json);
        taken[path].push(json);
        response.setHeader("content-type", "application/json");
        response.end("{}");
      } catch (error) {
        refused.push(String(error));
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    refused,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isSignal(path: string): path is SignalPath {
  return path in messages;
}

/**
 * Throws where a body is not a message of the protocol: it is written in the binary form by the code that is generated
 * from the published schema, and read again. What the schema does not have, or has as another type, is lost on that way.
 */
export function checkMessage(path: SignalPath, json: Fields): void {
  const message = messages[path];
  // Ids are hexadecimal in OTLP's JSON, where all other bytes would be base64.
  const plain = withIds(json) as Fields;
  const bytes = message.encode(message.fromObject(plain)).finish();
  const read = message.toObject(message.decode(bytes), { longs: String, bytes: String });
  if (ordered(read) !== ordered(plain))
    throw new Error(`${path}: ${ordered(plain)} was read as ${ordered(read)}`);
}

const idDigits: Readonly<Record<string, number>> = { traceId: 32, spanId: 16, parentSpanId: 16 };

function withIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withIds);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const digits = idDigits[name];
      if (digits === undefined) return [name, withIds(one)];
      if (typeof one !== "string" || !new RegExp(`^[0-9a-f]{${digits}}$`).test(one))
        throw new Error(`${name} is ${JSON.stringify(one)}`);
      return [name, Buffer.from(one, "hex").toString("base64")];
    }),
  );
}

/** JSON whose members are in one order. */
function ordered(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
