import { describe, expect, it } from "vitest";
import { apiOptions, type ImportedPages } from "../../../core/config/api-options.ts";
import { parseConfig } from "../../../core/config/parse-config.ts";
import { webConsole } from "../../../core/console/mod.ts";
import { apiDescription } from "../../../core/openapi/mod.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

const optionsOf = (config: object, sent: string[] = [], pages: ImportedPages = {}) =>
  apiOptions(
    parseConfig(config, () => undefined),
    fakePlatform(
      { now: 0 },
      {
        send: ({ url }) => {
          sent.push(url);
          return Promise.resolve({ status: 200, headers: [], body: new Uint8Array(0) });
        },
      },
    ),
    pages,
  );

describe("apiOptions()", () => {
  it("takes the pages that are imported, unless the configuration turns them off", () => {
    const pages = { console: webConsole, openApi: apiDescription };
    expect(optionsOf({}, [], pages)).toMatchObject(pages);
    expect(optionsOf({ console: true, openApi: true }, [], pages)).toMatchObject(pages);
    const off = optionsOf({ console: false, openApi: false }, [], pages);
    expect(off.console ?? off.openApi).toBeUndefined();
    const none = optionsOf({});
    expect(none.console ?? none.openApi).toBeUndefined();
  });

  it("refuses to turn on a page that is not imported", () => {
    expect(() => optionsOf({ console: true })).toThrow("webConsole of causey/console");
    expect(() => optionsOf({ openApi: true }, [], { console: webConsole })).toThrow(
      'Configuration key "openApi": Import apiDescription of causey/openapi',
    );
  });

  it("bounds the memory of vectors, by no less than a MiB", () => {
    const bytes = 2 * 1024 * 1024;
    expect(optionsOf({ search: { vectorMemoryBytes: bytes } }).search).toEqual({
      vectorMemoryBytes: bytes,
    });
    expect(() => optionsOf({ search: { vectorMemoryBytes: 1 } })).toThrow("vectorMemoryBytes");
  });

  it("hands on the days of pinned clients, which are ids of tokens and days", () => {
    const id = "0123456789abcdef0123456789abcdef";
    const pins = { [id]: "2024-06-01" };
    expect(optionsOf({ deprecations: { pins } }).deprecations).toEqual({ pins });
    expect(() => optionsOf({ deprecations: { pins: { [id]: "soon" } } })).toThrow(
      `deprecations.pins.${id}": expected a day such as "2024-06-01"`,
    );
    const token = "a-token-in-the-wrong-place";
    expect(() => optionsOf({ deprecations: { pins: { [token]: "2024-06-01" } } })).toThrow(
      /^Configuration key "deprecations.pins": expected ids of tokens(?!.*wrong-place)/u,
    );
  });

  it("makes a judge of an OpenAI-compatible endpoint", async () => {
    const sent: string[] = [];
    const judge = { baseUrl: "https://guard.test/v1", model: "guard-1", apiKey: "k" };
    const { gateway } = optionsOf({ gateway: { judge } }, sent);
    expect(gateway?.judgeModel).toBe("guard-1");
    const asked = new Request("http://judge.invalid/", { method: "POST", body: "{}" });
    await gateway?.judge?.(asked);
    expect(sent).toEqual(["https://guard.test/v1/chat/completions"]);
    expect(optionsOf({ gateway: {} }).gateway).not.toHaveProperty("judge");
  });

  it("makes a checker of a server", async () => {
    const sent: string[] = [];
    const checkers = { words: { url: "http://10.0.0.7/check", timeoutMs: 100 } };
    const { gateway } = optionsOf({ gateway: { checkers } }, sent);
    const { signal } = new AbortController();
    const check = async (): Promise<unknown> =>
      gateway?.checkers?.["words"]?.check("x", "prompt", signal);
    await expect(check()).rejects.toThrow('The checker "words" answered without a verdict');
    expect(sent).toEqual(["http://10.0.0.7/check"]);
    expect(optionsOf({ gateway: {} }).gateway).not.toHaveProperty("checkers");
  });

  it("gives rendering every limit of the file", () => {
    const rendering = {
      maxConcurrency: 3,
      pagesAhead: 0,
      pagesKept: 0,
      maxQueue: 0,
      maxBodyBytes: 1000,
      requestTimeout: 5000,
      timeouts: { goto: 1, selector: 2, wait: 3, action: 4 },
      unsafeRegex: true,
      frontmatter: false,
    };
    expect(optionsOf({ rendering }).rendering).toEqual(rendering);
  });

  it("gives rendering its model, and the model its time", async () => {
    const sent: string[] = [];
    const chatModel = { baseUrl: "https://m.test/v1", model: "m", timeoutSeconds: 5 };
    const { rendering } = optionsOf({ rendering: { chatModel } }, sent);
    expect(rendering?.chatTimeoutMs).toBe(5000);
    if (typeof rendering?.chatModel !== "function") throw new TypeError("It is no function");
    await rendering.chatModel(new Request("http://m.invalid/", { method: "POST", body: "{}" }));
    expect(sent).toEqual(["https://m.test/v1/chat/completions"]);
    const behind = { gateway: "g", model: "openai/m" };
    expect(optionsOf({ rendering: { chatModel: behind } }).rendering?.chatModel).toEqual(behind);
  });

  it("seals crawls' requests under the gateway's master key, and opens those of the earlier ones", () => {
    const gateway = {
      masterKey: "gateway-master-key-0",
      formerMasterKeys: ["former-master-key-0"],
    };
    expect(optionsOf({ gateway }).rendering).toMatchObject({
      masterSecret: gateway.masterKey,
      formerMasterSecrets: gateway.formerMasterKeys,
    });
    expect(optionsOf({}).rendering).not.toHaveProperty("masterSecret");
  });

  it("seals webhook secrets under the gateway's master key, unless they have one of their own", () => {
    const masterKey = "gateway-master-key-0";
    expect(optionsOf({ gateway: { masterKey } }).webhooks).toMatchObject({
      masterSecret: masterKey,
    });
    const own = { gateway: { masterKey }, webhooks: { masterSecret: "webhook-secret-000" } };
    expect(optionsOf(own).webhooks).toMatchObject({ masterSecret: "webhook-secret-000" });
    expect(optionsOf({}).webhooks).not.toHaveProperty("masterSecret");
  });
});
