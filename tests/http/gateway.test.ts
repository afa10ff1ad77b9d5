import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { randomUUID } from "node:crypto";
import {
  brotliDecompressSync,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from "node:zlib";
import { describe, expect, inject, it } from "vitest";
import { PATIENCE_MS } from "../cases/eventually.ts";
import { gatewayToken } from "./prepare-target.ts";
import { fileName, sseText } from "./upstream.ts";
import {
  account,
  base,
  byEvent,
  chat,
  logs,
  seen,
  send,
  token,
  upstream,
} from "../fakes/gateway-sent.ts";

const unpack: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

describe("authentication", () => {
  it.each([
    ["guarded", {}, 401],
    ["guarded", { "gw-aig-authorization": "Bearer wrong" }, 401],
    ["guarded", { "gw-aig-authorization": `Bearer ${gatewayToken}` }, 200],
    ["guarded", { "cf-aig-authorization": `Bearer ${gatewayToken}` }, 200],
    ["guarded", { "cf-aig-authorization": `Bearer ${token}` }, 200],
    ["default", {}, 401],
    ["default", { "cf-aig-authorization": `Bearer ${token}` }, 200],
    ["open", {}, 200],
    ["unknown-gateway", { "cf-aig-authorization": `Bearer ${token}` }, 400],
  ])("%s with %j answers %i", async (gateway, headers, status) => {
    const { id, response } = send({ gateway, headers });
    const answer = await response;
    const body = (await answer.json()) as { error: [{ code: number }] };
    expect(answer.status, JSON.stringify(body)).toBe(status);
    expect((await seen(id)).length).toBe(status === 200 ? 1 : 0);
    if (status !== 200) expect(body.error[0].code).toBe(status === 401 ? 2009 : 2001);
  });
});

it("lists the models of the providers that a caller may use", async () => {
  const idsOf = async (gateway: string, headers: Record<string, string>): Promise<string[]> => {
    const list = await fetch(`${base}/v1/${account}/${gateway}/compat/models`, { headers });
    const { data } = (await list.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const groq = "groq/llama-3.1-8b-instant";
  const ids = await idsOf("guarded", { authorization: `Bearer ${gatewayToken}` });
  expect(ids).toEqual(expect.arrayContaining(["openai/gpt-4o", "openai/gpt-6.1-sol", groq]));
  expect(ids.filter((id) => /^(?:cohere|cerebras|grok)\//.test(id))).toEqual([]);
  // A key of the operator's serves no stranger.
  expect(await idsOf("strangers", {})).not.toContain(groq);
});

describe("a request on its way to the provider", () => {
  it("keeps method, raw path, query and body, and loses what is not the provider's business", async () => {
    const headers = {
      "x-test-mode": "mirror",
      "cf-aig-authorization": `Bearer ${gatewayToken}`,
      "cf-aig-metadata": '{"a":1}',
      "x-forwarded-for": "1.2.3.4",
      authorization: "Bearer sk-provider",
    };
    const body = '{ "model" : "m",\n"n": 1.0 }';
    const { response } = send({
      gateway: "guarded",
      path: "openai/files/a%2Fb:do?x=%20+&x=2",
      headers,
      body,
    });
    const got = (await (await response).json()) as {
      method: string;
      url: string;
      body: string;
      headers: object;
    };
    expect(got).toMatchObject({ method: "POST", url: "/v1/files/a%2Fb:do?x=%20+&x=2", body });
    expect(got.headers).toMatchObject({
      authorization: "Bearer sk-provider",
      host: new URL(upstream).host,
    });
    expect(JSON.stringify(got.headers)).not.toMatch(/aig-|1\.2\.3\.4|gateway-token/);
  });

  it("carries the configured key when it has no credential of its own", async () => {
    const { response } = send({ path: "groq/chat/completions", mode: "mirror" });
    const got = (await (await response).json()) as { headers: Record<string, string> };
    expect(got.headers["authorization"]).toBe("Bearer sk-configured-key");
  });

  it("may be a large upload of unknown length", async () => {
    const total = 24 * 1024 * 1024;
    const id = randomUUID();
    const status = await new Promise<number>((resolve, reject) => {
      const headers = {
        "content-type": "audio/wav",
        "transfer-encoding": "chunked",
        "x-test-id": id,
      };
      const req = httpRequest(
        `${base}/v1/${account}/open/openai/audio`,
        { method: "POST", headers },
        (res) => {
          res.resume();
          res.on("end", () => resolve(res.statusCode ?? 0));
        },
      );
      req.on("error", reject);
      const block = Buffer.alloc(1024 * 1024, 98);
      let left = total / block.length;
      const next = (): void => {
        while (left-- > 0) if (!req.write(block)) return void req.once("drain", next);
        req.end();
      };
      next();
    });
    expect(status).toBe(200);
    const [record] = await seen(id);
    expect(record?.body.length).toBe(total);
  });

  it("with two framings is declined", async () => {
    const { port, hostname } = new URL(base);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `POST /v1/${account}/open/openai/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n` +
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        );
      });
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      socket.on("close", () => resolve(text));
      socket.on("error", reject);
      socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    });
    // workerd reads the framing itself, as RFC 9112 section 6.3 allows (Transfer-Encoding wins, the
    // connection ends), and shows the Worker one of the two: there is nothing left to smuggle.
    if (inject("target") === "workers") expect(answer.match(/HTTP\/1\.1 \d/gu)).toHaveLength(1);
    else expect(answer).toMatch(/^HTTP\/1\.1 400/);
  });
});

describe("an answer on its way to the client", () => {
  it("is a provider's error, verbatim", async () => {
    const { response } = send({ mode: "error429" });
    const answer = await response;
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await answer.text()).toBe(
      '{"error":{"message":"slow down","type":"rate_limit","param":null,"code":"rate_limited"}}',
    );
  });

  it("keeps two Set-Cookie lines apart and drops Connection-listed headers", async () => {
    const answer = await send({ mode: "cookies" }).response;
    expect(answer.headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2; Path=/"]);
    expect(answer.headers.get("x-hop")).toBeNull();
  });

  it("keeps the bytes of a file's name that is UTF-8", async () => {
    const answer = await send({ mode: "file" }).response;
    const given = answer.headers.get("content-disposition") ?? "";
    expect(Buffer.from(given, "latin1").toString()).toBe(`attachment; filename="${fileName}"`);
    expect(await answer.text()).toBe("ok");
  });

  it.each(["gzip", "deflate", "br", "zstd"])(
    "tells the truth about a %s body",
    async (encoding) => {
      const id = randomUUID();
      const raw = await new Promise<{ headers: Record<string, unknown>; body: Buffer }>(
        (resolve, reject) => {
          const headers = {
            "content-type": "application/json",
            "x-test-mode": encoding,
            "accept-encoding": encoding,
            "cf-aig-event-id": id,
          };
          const req = httpRequest(
            `${base}/v1/${account}/open/openai/chat/completions`,
            { method: "POST", headers },
            (res) => {
              const chunks: Buffer[] = [];
              res.on("data", (chunk: Buffer) => chunks.push(chunk));
              res.on("end", () => resolve({ headers: res.headers, body: Buffer.concat(chunks) }));
            },
          );
          req.on("error", reject);
          req.end(chat);
        },
      );
      const named = raw.headers["content-encoding"];
      if (named !== undefined) expect(named).toBe(encoding);
      const text = named === undefined ? raw.body : unpack[encoding]?.(raw.body);
      expect(JSON.parse(String(text))).toMatchObject({ model: "test-model" });
      const length = raw.headers["content-length"];
      if (length !== undefined) expect(Number(length)).toBe(raw.body.length);
      const [row] = await logs("open", byEvent(id), 1);
      expect(row).toMatchObject({ success: true });
      // workerd has nothing that reads zstd (docs/gateway/memory.md).
      const isRead = encoding !== "zstd" || inject("target") !== "workers";
      expect([row?.["tokens_in"], row?.["tokens_out"]]).toEqual(isRead ? [7, 3] : [null, null]);
    },
  );

  it("is read, logged and passed on when its deflate has no wrapper, where the runtime can", async () => {
    const id = randomUUID();
    const body = await new Promise<Buffer>((resolve, reject) => {
      const headers = {
        "content-type": "application/json",
        "x-test-mode": "deflate-raw",
        "accept-encoding": "deflate",
        "cf-aig-event-id": id,
      };
      const url = `${base}/v1/${account}/open/openai/chat/completions`;
      const req = httpRequest(url, { method: "POST", headers }, (res) => {
        const chunks: Buffer[] = [];
        res.on("data", (chunk: Buffer) => chunks.push(chunk));
        res.on("error", reject);
        res.on("end", () => {
          const all = Buffer.concat(chunks);
          resolve(res.headers["content-encoding"] === undefined ? all : inflateRawSync(all));
        });
      });
      req.on("error", reject);
      req.end(chat);
    });
    expect(JSON.parse(String(body))).toMatchObject({ model: "test-model" });
    const [row] = await logs("open", byEvent(id), 1);
    expect(row).toMatchObject({ success: true, tokens_in: 7, tokens_out: 3 });
  });

  it.each(["sse", "sse-bytes"])("is the provider's stream, byte for byte (%s)", async (mode) => {
    const id = randomUUID();
    const answer = await send({ mode, headers: { "cf-aig-event-id": id } }).response;
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await answer.text()).toBe(sseText);
    const [row] = await logs("open", byEvent(id), 1);
    expect(row).toMatchObject({ tokens_in: 5, tokens_out: 3, success: true, status_code: 200 });
  });

  it("arrives event by event, not at the end", async () => {
    const control = new AbortController();
    const answer = await send({ mode: "hang", signal: control.signal }).response;
    const { value } = await answer.body!.getReader().read();
    expect(new TextDecoder().decode(value)).toBe('data: {"first":true}\n\n');
    control.abort();
  });

  it("breaks when the provider breaks off, and its row says so", async () => {
    const id = randomUUID();
    const answer = await send({ mode: "truncate", headers: { "cf-aig-event-id": id } }).response;
    await expect(answer.text()).rejects.toThrow();
    const [row] = await logs("open", byEvent(id), 1);
    expect(row).toMatchObject({ success: false, status_code: 200 });
  });

  it("is 502/2005 when the provider cannot be reached", async () => {
    const answer = await send({ path: "deepseek/chat/completions" }).response;
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ success: false, error: [{ code: 2005 }] });
  });

  it("has the gateway's facts under both prefixes", async () => {
    const answer = await send().response;
    expect(answer.headers.get("cf-aig-cache-status")).toBe("MISS");
    expect(answer.headers.get("gw-aig-log-id")).toBe(answer.headers.get("cf-aig-log-id"));
    expect(answer.headers.get("cf-aig-log-id")).toMatch(/^[0-9A-Z]{26}$/);
  });
});

it("the demo provider streams to a client without a key", async () => {
  const body = JSON.stringify({
    model: "echo-demo",
    stream: true,
    messages: [{ role: "user", content: "good morning" }],
  });
  const answer = await send({ path: "echo/chat/completions", body }).response;
  const text = await answer.text();
  expect(text).toContain('"content":" morning"');
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});
