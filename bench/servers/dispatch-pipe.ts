// The floor of a portable gateway: Hono, undici's dispatcher, an ordinary Response.
import { Hono } from "hono";
import { type Dispatcher, Pool } from "undici";
import { listen } from "./listen.ts";

const upstream = new URL(process.env["UPSTREAM"] ?? "");
const pool = new Pool(upstream.origin, { connections: 256 });
const app = new Hono();
app.post("*", async (c) => {
  const authorization = c.req.header("authorization") ?? "";
  const body = new Uint8Array(await c.req.arrayBuffer());
  return new Promise<Response>((resolve, reject) => {
    const headers = { "content-type": "application/json", authorization };
    pool.dispatch(
      { method: "POST", path: "/v1/chat/completions", headers, body },
      exchange(resolve, reject),
    );
  });
});
listen(app.fetch);

interface Sink {
  readonly data: (chunk: Buffer) => void;
  readonly end: () => void;
}

function exchange(
  resolve: (response: Response) => void,
  reject: (error: Error) => void,
): Dispatcher.DispatchHandler {
  let sink: Sink;
  return {
    onRequestStart: () => undefined,
    onResponseStart(_controller, status, received) {
      const init = { status, headers: { "content-type": String(received["content-type"]) } };
      sink =
        received["content-length"] === undefined
          ? streamed((body) => resolve(new Response(body, init)))
          : whole((body) => resolve(new Response(body, init)));
    },
    onResponseData: (_controller, chunk) => sink.data(chunk),
    onResponseEnd: () => sink.end(),
    onResponseError: (_controller, error) => reject(error),
  };
}

function whole(done: (body: string) => void): Sink {
  const chunks: Buffer[] = [];
  return {
    data: (chunk) => void chunks.push(chunk),
    end: () => done(Buffer.concat(chunks).toString()),
  };
}

/** Without backpressure: a floor does nothing that it need not. */
function streamed(begin: (body: ReadableStream<Uint8Array>) => void): Sink {
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  begin(new ReadableStream<Uint8Array>({ start: (controller) => void (out = controller) }));
  return {
    data: (chunk) => out?.enqueue(chunk),
    end: () => out?.close(),
  };
}
