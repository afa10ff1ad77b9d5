import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

let gateway: GatewayUnderTest;

beforeEach(async () => {
  gateway = await gatewayUnderTest({
    providers: { fal: { apiKey: "fal-stored" } },
  });
});

afterEach(() => gateway.close());

describe("the address that fal's client sends to its proxyUrl", () => {
  const ask = (target: string, path = "open/fal", init: RequestInit = {}): Promise<Response> =>
    gateway.send(path, { ...jsonInit({}, { "x-fal-target-url": target }), ...init });

  it("is where the request goes, with the configured key and without the header", async () => {
    expect((await ask("https://queue.fal.run/fal-ai/flux/dev?fal_webhook=%20u")).status).toBe(200);
    const [sent] = gateway.transport.requests;
    expect(sent?.url).toBe("https://queue.fal.run/fal-ai/flux/dev?fal_webhook=%20u");
    expect(sentHeaders(sent)["authorization"]).toBe("Key fal-stored");
    expect(sentHeaders(sent)).not.toHaveProperty("x-fal-target-url");
    const [row] = await gateway.logs("open", 1);
    expect(row).toMatchObject({ path: "fal-ai/flux/dev?fal_webhook=%20u", provider: "fal" });
  });

  it("may be any of fal's hosts, and may be asked with GET", async () => {
    for (const url of ["https://fal.run/a/b", "https://rest.alpha.fal.ai/tokens/"]) {
      const headers = { "x-fal-target-url": url };
      await gateway.send("open/fal", { method: "GET", headers });
      expect(gateway.transport.requests.at(-1)).toMatchObject({ url, method: "GET" });
    }
  });

  it.each([
    "https://evil.test/x",
    "https://fal.run.evil.test/x",
    "https://evilfal.run/x",
    "https://a@fal.run/x",
    "https://fal.run:8443/x",
    "https://fal.run\\@evil.test/x",
    "http://fal.run/x",
    "https://fal.run/a/../../x",
    "//fal.run/x",
    "fal-ai/flux",
  ])("is refused when it is %s", async (target) => {
    expect((await ask(target)).status).toBe(400);
    expect(gateway.transport.requests).toHaveLength(0);
  });

  it("leads below a configured base URL, and means nothing to other providers", async () => {
    const own = await gatewayUnderTest({ providers: { fal: { baseUrl: "http://own.test/f" } } });
    const headers = { "x-fal-target-url": "https://queue.fal.run/a/b?c" };
    await own.send("open/fal", jsonInit({}, headers));
    await own.send("open/openai/v1/models", jsonInit({}, headers));
    expect(own.transport.requests.map(({ url }) => url)).toEqual([
      "http://own.test/f/a/b?c",
      "https://api.openai.com/v1/models",
    ]);
    await own.close();
  });
});

describe("the address at which an upload to Google goes on", () => {
  const start = async (told: string): Promise<string | null> => {
    gateway.transport.behave = () => jsonReply({}, 200, [["x-goog-upload-url", told]]);
    const answer = await gateway.send("open/google-ai-studio/upload/v1beta/files?x=1", {
      body: "",
    });
    return answer.headers.get("x-goog-upload-url");
  };

  it("is the gateway's, since clients take the host of their base URL and that path", async () => {
    const path = "upload/v1beta/files?upload_id=a%2Fb&upload_protocol=resumable";
    const told = await start(`https://generativelanguage.googleapis.com/${path}`);
    expect(told).toBe(`http://gateway.test/v1/acme/open/google-ai-studio/${path}`);
    await gateway.send(new URL(told ?? "").href.slice("http://gateway.test/v1/acme/".length));
    expect(gateway.transport.requests.at(-1)?.url).toBe(
      `https://generativelanguage.googleapis.com/${path}`,
    );
  });

  it("stays as it is in the answer to anything but an upload", async () => {
    const theirs = "https://generativelanguage.googleapis.com/upload/v1beta/files?upload_id=1";
    gateway.transport.behave = () => jsonReply({}, 200, [["x-goog-upload-url", theirs]]);
    const answer = await gateway.send("open/google-ai-studio/v1beta/files", { body: "" });
    expect(answer.headers.get("x-goog-upload-url")).toBe(theirs);
  });

  it("stays as it is on any other host", async () => {
    const other = "https://generativelanguage.googleapis.com.test/upload";
    expect(await start(other)).toBe(other);
  });
});

describe("the cached stream of a client that leaves", () => {
  const ask = async (last: string): Promise<string | null> => {
    const upstream = fedStream();
    gateway.transport.behave = (request) => upstream.answer(request);
    const init = jsonInit({ last }, { "cf-aig-cache-ttl": "60" });
    const answer = await gateway.send("open/openai/chat/completions", init);
    const status = answer.headers.get("cf-aig-cache-status");
    if (status === "HIT") {
      expect(await answer.text()).toBe(`data: {"choices":[]}\n\n${last}`);
      return status;
    }
    const reader = answer.body?.getReader();
    upstream.send('data: {"choices":[]}\n\n', last.slice(0, 9), last.slice(9));
    for (let read = 0; read < 3; read++) await reader?.read();
    await reader?.cancel();
    await upstream.ended;
    return status;
  };

  it("is kept when its last event has passed, and only then", async () => {
    expect([await ask("data: [DONE]\n\n"), await ask("data: [DONE]\n\n")]).toEqual(["MISS", "HIT"]);
    expect([await ask("data: [DONE]\n"), await ask("data: [DONE]\n")]).toEqual(["MISS", "MISS"]);
    expect([await ask("data: 12345\n\n"), await ask("data: 12345\n\n")]).toEqual(["MISS", "MISS"]);
  });
});

describe("a stream that its client leaves", () => {
  const rowOf = async (last: string, how: "leave" | "break", ttl = "0"): Promise<unknown> => {
    const upstream = fedStream();
    gateway.transport.behave = (request) => upstream.answer(request);
    const headers = { "cf-aig-cache-ttl": ttl, "cf-aig-event-id": `${last.length}${how}${ttl}` };
    const answer = await gateway.send(
      "open/openai/chat/completions",
      jsonInit({ last, how }, headers),
    );
    const reader = answer.body?.getReader();
    upstream.send('data: {"choices":[]}\n\n', last);
    for (let read = 0; read < 2; read++) await reader?.read();
    if (how === "leave") await reader?.cancel();
    else {
      upstream.fail();
      await expect(reader?.read()).rejects.toThrow();
    }
    const [row] = await gateway.rowsOf("open", headers["cf-aig-event-id"], 1);
    return row?.["success"];
  };

  it.each(["0", "60"])(
    "succeeded once its last event has passed: OpenAI's SDK reads no further (cache of %s s)",
    async (ttl) => {
      expect(await rowOf("data: [DONE]\n\n", "leave", ttl)).toBe(true);
      expect(await rowOf('data: {"a":1}\n\n', "leave", ttl)).toBe(false);
      expect(await rowOf("data: [DONE]\n\n", "break", ttl)).toBe(false);
    },
  );
});
