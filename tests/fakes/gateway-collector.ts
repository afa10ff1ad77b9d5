import { eventually } from "../cases/eventually.ts";
import type { Span } from "../../core/trace/otlp-json.ts";
import { type FakeTransport, fakeTransport, jsonReply } from "./gateway-transport.ts";

/** A span as a collector reads it. */
export type Exported = Span & {
  /** Its attributes by name. */
  readonly about: Readonly<Record<string, unknown>>;
};

/** One request's span, and its tries in their order. */
export interface Tree {
  readonly server: Exported;
  readonly tries: readonly Exported[];
}

/** A collector of traces, to be given as `egress`. */
export interface FakeCollector extends FakeTransport {
  /** What has come once the spans of that many requests are among it. */
  spans(requests: number): Promise<Exported[]>;
  /** The trace of the one request that has come. */
  tree(): Promise<Tree>;
}

export function fakeCollector(): FakeCollector {
  const transport = fakeTransport(() => jsonReply({}));
  const spans: FakeCollector["spans"] = async (requests) => {
    let all: Exported[] = [];
    await eventually(() => {
      all = transport.bodies.flatMap(spansIn);
      return all.filter(({ kind }) => kind === 2).length >= requests;
    }, "the spans of the requests are exported");
    return all;
  };
  const tree: FakeCollector["tree"] = async () => {
    const all = await spans(1);
    const [server, ...others] = all.filter(({ kind }) => kind === 2);
    if (server === undefined || others.length > 0) throw new Error("More than one request");
    return { server, tries: all.filter(({ kind }) => kind === 3) };
  };
  return Object.assign(transport, { spans, tree });
}

/** The spans in the body of an export (OTLP/JSON). */
export function spansIn(body: string): Exported[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
  };
  const all = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
  return all.map((span) => ({
    ...span,
    about: Object.fromEntries(
      span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
    ),
  }));
}
