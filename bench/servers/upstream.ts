// A model provider that answers at once: the same JSON, or 51 server-sent events when `stream` is true, of which it
// keeps all but the first when `hold` is true. Like OpenAI it tells a stream's usage only when it is asked.
import { createServer } from "node:http";

const reply = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "bench",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "x".repeat(600), refusal: null },
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
});
const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
const head = { id: "1", object: "chat.completion.chunk", created: 1, model: "bench" };
/** As OpenAI does: a stream that was asked for its usage says so in every event. */
const chunk = (content: string, asked: boolean): string =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: { content } }], ...(asked ? { usage: null } : {}) })}\n\n`;
const report = `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`;

const server = createServer((req, res) => {
  let streaming = false;
  let holding = false;
  let asked = false;
  req.on("data", (data: Buffer) => {
    streaming ||= data.includes('"stream":true');
    holding ||= data.includes('"hold":true');
    asked ||= data.includes('"include_usage":true');
  });
  req.on("end", () => {
    if (!streaming) {
      res
        .writeHead(200, {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(reply),
        })
        .end(reply);
      return;
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    if (holding) return void res.write(chunk("word ", asked));
    let n = 0;
    const next = (): void => {
      if (n++ === 50) res.end(`${asked ? report : ""}data: [DONE]\n\n`);
      else if (res.write(chunk(`word${n} `, asked))) setImmediate(next);
      else res.once("drain", next);
    };
    next();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.stdout.write(`http://127.0.0.1:${address.port}/\n`);
});
process.on("SIGTERM", () => process.exit(0));
