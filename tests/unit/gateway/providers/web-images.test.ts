import { describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  type Behaviour,
  bytes,
  type FakeTransport,
  fakeTransport,
  jsonReply,
  streamReply,
} from "../../../fakes/gateway-transport.ts";

describe("an image on the web, which Gemini does not fetch", () => {
  const image = (headers: [string, string][] = [["content-type", "image/png; x=y"]]) => ({
    status: 200,
    headers,
    body: bytes("PNG!"),
  });
  const withWeb =
    (behave: Behaviour, run: (one: GatewayUnderTest, web: FakeTransport) => Promise<void>) =>
    async (): Promise<void> => {
      const web = fakeTransport(behave);
      const one = await gatewayUnderTest({}, { egress: web });
      one.transport.behave = () => jsonReply({ candidates: [{ content: { parts: [] } }] });
      try {
        await run(one, web);
      } finally {
        await one.close();
      }
    };
  const ask = (one: GatewayUnderTest, url: string) =>
    one.send(
      "open/google-ai-studio/chat/completions",
      jsonInit({
        model: "gemini-2.5-flash",
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
      }),
    );
  const partsSent = (one: GatewayUnderTest) =>
    one.transport.bodies.map(
      (body) => (JSON.parse(body) as { contents: [{ parts: object[] }] }).contents[0].parts,
    );

  it(
    "is fetched from the outside, without the caller's headers, and goes along inline",
    withWeb(
      ({ url }) =>
        url.endsWith("/old")
          ? { status: 302, headers: [["location", "/new"]], body: null }
          : image(),
      async (one, web) => {
        expect((await ask(one, "https://pictures.test/old")).status).toBe(200);
        expect(web.requests.map(({ url }) => url)).toEqual([
          "https://pictures.test/old",
          "https://pictures.test/new",
        ]);
        expect(JSON.stringify(web.requests)).not.toMatch(/authorization|cf-aig/);
        expect(partsSent(one)).toEqual([
          [{ inlineData: { mimeType: "image/png", data: "UE5HIQ==" } }],
        ]);
      },
    ),
  );

  it.each<[string, Behaviour, RegExp]>([
    ["status 404", () => ({ status: 404, headers: [], body: null }), /status 404/],
    ["no image", () => image([["content-type", "text/html"]]), /not an image/],
    ["a loop", () => ({ status: 301, headers: [["location", "/"]], body: null }), /redirects/],
    [
      "another scheme",
      () => ({ status: 301, headers: [["location", "file:///etc/passwd"]], body: null }),
      /other than an http\(s\) address/,
    ],
    [
      "a private address",
      () => Promise.reject(new TransportError("refused", "10.0.0.1 is private")),
      /not at a public address/,
    ],
    [
      "too many bytes",
      () =>
        streamReply(
          Array.from({ length: 21 }, () => new Uint8Array(1024 * 1024)),
          { type: "image/png" },
        ),
      /larger than/,
    ],
  ])("that is not to be had (%s) is a 400 that names it", async (_, behave, why) => {
    await withWeb(behave, async (one) => {
      const response = await ask(one, "https://pictures.test/a.png?signature=secret");
      const text = await response.text();
      expect([response.status, JSON.parse(text)]).toMatchObject([
        400,
        { errors: [{ code: 2019 }] },
      ]);
      expect(text).toMatch(why);
      expect(text).toContain("https://pictures.test/a.png");
      expect(text).not.toMatch(/secret|10\.0\.0\.1/);
      expect(one.transport.requests).toEqual([]);
    })();
  });

  it(
    "is not fetched where it lies at Google",
    withWeb(
      () => image(),
      async (one, web) => {
        const file = "https://generativelanguage.googleapis.com/v1beta/files/1";
        await ask(one, file);
        expect(partsSent(one)).toEqual([[{ fileData: { fileUri: file } }]]);
        expect(web.requests).toEqual([]);
      },
    ),
  );
});
