import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { playedBucket } from "../fakes/search-bucket.ts";
import { streamOf as openaiStream } from "../fakes/gateway-openai-stream.ts";
import { nativeMode } from "./native-upstream.ts";
import { realtimeUpstream } from "./realtime-upstream.ts";

/** What the model server saw of one request; fetch it from `{upstreamUrl}/__seen/{x-test-id}`. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  /** The client went away before the answer was complete. */
  aborted: boolean;
  /** The whole answer has left this process. */
  finished: boolean;
}

/** A model server for black-box tests: the header `x-test-mode` of a request says how it behaves. */
export interface Upstream {
  readonly url: string;
  close(): Promise<void>;
}

const completion = {
  id: "chatcmpl-test",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "test-model",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hello from upstream", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
};

/** The events that the mode `sse` sends, as one text: comments, ids and a split multi-byte character included. */
export const sseText: string = [
  ": a comment",
  ...["Grüße", " 🌍", "!"].map(
    (content) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "test-model", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}`,
  ),
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "test-model", choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } })}`,
  "data: [DONE]",
]
  .map((event) => `${event}\n\n`)
  .join("");

/** The name of the file that the mode `file` sends. */
export const fileName = "Grüße-東京.txt";

type Mode = (
  req: IncomingMessage,
  res: ServerResponse,
  body: string,
  bytes: Buffer<ArrayBuffer>,
) => void;

/** Finds a name in a page when it was told that its first answer, a text, does not fit a schema that wants one. */
const foundData = (body: string): object => {
  const { messages } = JSON.parse(body);
  if (messages.length < 4 || !String(messages[0].content).includes('"name"')) return completion;
  const [choice] = completion.choices;
  return { ...completion, choices: [{ ...choice, message: { content: '{"name":"Bike"}' } }] };
};

/** The `x-test-id`s whose first request has failed. */
const failedOnce = new Set<string>();

const modes: Readonly<Record<string, Mode>> = {
  json: (_req, res, body) =>
    sendJson(res, 200, body.includes('"model":"finds-data"') ? foundData(body) : completion),
  sse: (_req, res) => void res.writeHead(200, { "content-type": "text/event-stream" }).end(sseText),
  "sse-bytes": (_req, res) => {
    const bytes = Buffer.from(sseText);
    res.writeHead(200, { "content-type": "text/event-stream" });
    let at = 0;
    const next = (): void => {
      if (at === bytes.length) res.end();
      else {
        res.write(bytes.subarray(at, ++at));
        setImmediate(next);
      }
    };
    next();
  },
  // As OpenAI: the usage only when it is asked for. In pieces of 50 bytes.
  "openai-stream": (_req, res, body) => {
    const bytes = Buffer.from(openaiStream(body.includes('"include_usage":true')).join(""));
    res.writeHead(200, { "content-type": "text/event-stream" });
    let at = 0;
    const next = (): void => {
      if (at >= bytes.length) return void res.end();
      res.write(bytes.subarray(at, (at += 50)));
      setImmediate(next);
    };
    next();
  },
  gzip: (_req, res) => sendPacked(res, "gzip", gzipSync),
  deflate: (_req, res) => sendPacked(res, "deflate", deflateSync),
  "deflate-raw": (_req, res) => sendPacked(res, "deflate", deflateRawSync),
  br: (_req, res) => sendPacked(res, "br", brotliCompressSync),
  zstd: (_req, res) => sendPacked(res, "zstd", zstdCompressSync),
  cookies: (_req, res) => {
    res.setHeader("set-cookie", ["a=1; Path=/", "b=2; Path=/"]);
    res.setHeader("connection", "x-hop");
    res.setHeader("x-hop", "must not cross");
    sendJson(res, 200, completion);
  },
  // A file whose name is UTF-8, behind the length: there Node itself cannot send it.
  file: (_req, res) => {
    const lines = ["HTTP/1.1 200 OK", "content-length: 2", "content-type: text/plain"];
    lines.push(`content-disposition: attachment; filename="${fileName}"`, "connection: close");
    res.socket?.end(`${lines.join("\r\n")}\r\n\r\nok`);
  },
  // Announces more than it sends, then cuts the connection.
  truncate: (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write('data: {"partial":true}\n\n');
    setTimeout(() => res.socket?.destroy(), 50);
  },
  // Sends one event, and the others as `/__step/{x-test-id}` is asked for.
  held: (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write('data: {"n":1}\n\n');
  },
  never: () => undefined,
  // A server that checks texts.
  guard: (_req, res, body) => {
    const text = String(JSON.parse(body).texts[0]);
    if (text.includes("forbidden"))
      sendJson(res, 200, { action: "BLOCKED", blocked_reason: "a forbidden word" });
    else if (text.includes("watched"))
      sendJson(res, 200, { verdict: "flag", reason: "a watched word" });
    else sendJson(res, 200, { action: "NONE" });
  },
  // Sends one event and then nothing more, until the client leaves.
  hang: (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write('data: {"first":true}\n\n');
  },
  // Ten events in a second, then the end.
  slow: (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    let n = 0;
    const timer = setInterval(() => {
      if (n++ < 10) return void res.write(`data: {"n":${n}}\n\n`);
      clearInterval(timer);
      res.end("data: [DONE]\n\n");
    }, 100);
  },
  error429: (_req, res) => {
    res.setHeader("retry-after", "7");
    sendJson(res, 429, {
      error: { message: "slow down", type: "rate_limit", param: null, code: "rate_limited" },
    });
  },
  // To the first request of each `x-test-id` a failure with a status of success, as OpenRouter sends it.
  "failed-success": (req, res, body) => {
    const id = String(req.headers["x-test-id"]);
    const error = { code: 429, message: "Provider returned error" };
    const streams = body.includes('"stream":true');
    if (failedOnce.has(id)) return modes[streams ? "sse" : "json"]?.(req, res, body, Buffer.of());
    failedOnce.add(id);
    if (!streams) return sendJson(res, 200, { error });
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`: PROCESSING\n\ndata: ${JSON.stringify({ error })}\n\n`);
  },
  // As much as the client takes: 64 MiB.
  flood: (_req, res) => {
    res.writeHead(200, { "content-type": "application/octet-stream" });
    const block = Buffer.alloc(64 * 1024, 97);
    let left = 1024;
    const next = (): void => {
      while (left-- > 0) if (!res.write(block)) return void res.once("drain", next);
      res.end();
    };
    next();
  },
  native: (req, res, _body, bytes) => void nativeMode(req, res, bytes),
  mirror: (req, res, body) =>
    sendJson(res, 200, {
      method: req.method,
      url: req.url,
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      body,
    }),
};

function sendPacked(res: ServerResponse, encoding: string, pack: (text: string) => Buffer): void {
  const body = pack(JSON.stringify(completion));
  res
    .writeHead(200, {
      "content-type": "application/json",
      "content-encoding": encoding,
      "content-length": body.length,
    })
    .end(body);
}

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res
    .writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    })
    .end(text);
}

/** The bucket `docs`, which verifies signatures. */
const bucket = playedBucket({
  "guide/ferry.md": "# Ferry\n\nThe ferry leaves at noon.",
  "guide/größe + maß.md": "# Bread\n\nKnead the dough.",
  "other.md": "Not below the prefix.",
});

async function sendObject(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const headers = new Map(
    Object.entries(req.headers).map(([name, value]) => [name, String(value)]),
  );
  const url = new URL(req.url ?? "/", `http://${req.headers.host}`);
  const answer = await bucket.answer(url, headers);
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  res.end(answer.body);
}

/** Starts the model server on a free port; it has a bucket as well. */
export async function startUpstream(): Promise<Upstream> {
  const seen = new Map<string, Seen[]>();
  const held = new Map<string, ServerResponse>();
  /** Sends the next event of a held stream: two in all, then the end. */
  const steps = new WeakMap<ServerResponse, number>();
  const sendStep = (res: ServerResponse | undefined): void => {
    if (res === undefined) return;
    const step = (steps.get(res) ?? 1) + 1;
    steps.set(res, step);
    if (res.req.headers["x-test-cut"] === "yes") res.socket?.destroy();
    else if (step > 2) res.end("data: [DONE]\n\n");
    else res.write(`data: {"n":${step}}\n\n`);
  };
  const server = createServer((req, res) => {
    const url = req.url ?? "/";
    if (url.startsWith("/__sockets/")) return sendJson(res, 200, realtime.seenBy(url.slice(11)));
    if (url === "/__open") return sendJson(res, 200, realtime.open());
    if (url.startsWith("/docs/")) return void sendObject(req, res);
    if (url.startsWith("/__seen/")) return sendJson(res, 200, seen.get(url.slice(8)) ?? []);
    if (url.startsWith("/__step/")) {
      sendStep(held.get(url.slice(8)));
      return sendJson(res, 200, {});
    }
    if (req.headers["x-test-mode"] === "held") held.set(String(req.headers["x-test-id"]), res);
    const chunks: Buffer[] = [];
    req.on("error", () => undefined);
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const bytes = Buffer.concat(chunks);
      const body = bytes.toString("utf8");
      const record: Seen = {
        method: req.method ?? "",
        url,
        rawHeaders: req.rawHeaders,
        body,
        aborted: false,
        finished: false,
      };
      const id = String(req.headers["x-test-id"] ?? "");
      seen.set(id, [...(seen.get(id) ?? []), record]);
      res.on("close", () => (record.aborted = !res.writableFinished));
      res.on("finish", () => (record.finished = true));
      const asked = req.headers["x-test-mode"] ?? (body.includes('"stream":true') ? "sse" : "json");
      (modes[String(asked)] ?? modes["json"])?.(req, res, body, bytes);
    });
  });
  const realtime = realtimeUpstream(server);
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
