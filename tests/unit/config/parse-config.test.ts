import { describe, expect, it } from "vitest";
import { parseConfig } from "../../../core/config/parse-config.ts";

const noEnv = () => undefined;

describe("parseConfig()", () => {
  it("accepts an empty configuration", () => {
    expect(parseConfig("{}", noEnv)).toEqual({});
  });

  it("takes 1 to 64 processes, or one per core", () => {
    for (const processes of [1, 64, "auto"])
      expect(parseConfig({ processes }, noEnv)).toEqual({ processes });
    for (const processes of [0, 65, 1.5, "all", null])
      expect(() => parseConfig({ processes }, noEnv)).toThrow('Configuration key "processes": ');
  });

  it("reads env: strings from the environment at any depth", () => {
    const env = (name: string) => (name === "KEY" ? "sk-1" : undefined);
    const config = parseConfig({ gateway: { providers: { openai: { apiKey: "env:KEY" } } } }, env);
    expect(config.gateway?.providers?.["openai"]?.apiKey).toBe("sk-1");
  });

  it("names the key whose environment variable is not set", () => {
    expect(() =>
      parseConfig(
        { webhooks: { sources: { x: { scheme: "github", secret: "env:NOPE" } } } },
        noEnv,
      ),
    ).toThrow(
      'Environment variable "NOPE", named by "webhooks.sources.x.secret" in the configuration, is not set',
    );
  });

  it("takes every option of a webhook source, and instants with their zone only", () => {
    const source = {
      scheme: "square",
      secrets: ["now", { secret: "before", expiresAt: "2027-01-01T00:00:00Z" }],
      entitySecrets: { mine: "one", theirs: [{ secret: "two" }] },
      respond: "queued",
      toleranceSeconds: 60,
      publicUrl: "https://hooks.example",
      bodyDedupeSeconds: 0,
      forward: { filter: { plan: { $in: ["pro"] } } },
    };
    const webhooks = { sources: { x: source }, masterSecret: "sixteen characters" };
    expect(parseConfig({ webhooks }, noEnv)).toEqual({ webhooks });
    const secrets = [{ secret: "s", expiresAt: "2027-01-01T00:00:00" }];
    const bad = { webhooks: { sources: { x: { ...source, secrets } } } };
    expect(() => parseConfig(bad, noEnv)).toThrow("webhooks.sources.x.secrets.0");
    expect(() => parseConfig({ webhooks: { masterSecret: "short" } }, noEnv)).toThrow(
      "at least 16 characters",
    );
  });

  it("takes teams and virtual keys, and names what is misspelt in them", () => {
    const teams = (limit: object) => ({ gateway: { teams: { research: { limits: [limit] } } } });
    const limit = { limitType: "cost", limit: 1, window: "day" };
    expect(parseConfig(teams(limit), noEnv)).toEqual(teams({ ...limit, technique: "fixed" }));
    expect(() => parseConfig(teams({ ...limit, windw: "day" }), noEnv)).toThrow(
      'Configuration key "gateway.teams.research.limits": unknown member "windw" of a limit: did you mean "window"?',
    );
    expect(() => parseConfig({ gateway: { teams: { research: { limts: [] } } } }, noEnv)).toThrow(
      'Unknown configuration key "gateway.teams.research.limts": did you mean "limits"?',
    );
    expect(() =>
      parseConfig({ gateway: { virtualKeys: { ann: { secret: "sk-1" } } } }, noEnv),
    ).toThrow('Configuration key "gateway.virtualKeys.ann.secret": expected a virtual key');
  });

  it("takes providers that there are, and custom ones with an address", () => {
    const baseUrl = "http://127.0.0.1:8000/v1";
    const providers = { openai: {}, baseten: { baseUrl }, "custom-vllm": { baseUrl } };
    expect(parseConfig({ gateway: { providers } }, noEnv)).toEqual({ gateway: { providers } });
    for (const [slug, settings, problem] of [
      ["opnai", { apiKey: "k" }, 'did you mean "openai"?'],
      ["tgi", { baseUrl }, '"custom-tgi" with a baseUrl'],
      ["toString", {}, 'no provider "toString"'],
      ["custom-vllm", { apiKey: "k" }, "needs a baseUrl"],
      ["custom-", { baseUrl }, 'expected "custom-" and'],
      ["baseten", { apiKey: "k" }, "needs a baseUrl"],
    ] as const) {
      const parse = () => parseConfig({ gateway: { providers: { [slug]: settings } } }, noEnv);
      expect(parse).toThrow(`Configuration key "gateway.providers.${slug}": `);
      expect(parse).toThrow(problem);
    }
  });

  it("takes no key that no header can hold", () => {
    for (const apiKey of ["", "sk-1\n", " sk-1", "sk-é", "a\r\nx: y"]) {
      for (const gateway of [
        { providers: { openai: { apiKey } } },
        { judge: { baseUrl: "http://judge.test", model: "m", apiKey } },
      ])
        expect(() => parseConfig({ gateway }, noEnv)).toThrow(/apiKey": (?!.*sk-)/);
    }
  });

  it("takes checkers behind an address", () => {
    const words = { url: "https://guard.test/check", on: ["request"], timeoutMs: 100 };
    const gateway = {
      checkers: { words: { ...words, headers: { "x-key": "k" }, onFailure: "allow" } },
    };
    expect(parseConfig({ gateway }, noEnv)).toEqual({ gateway });
    for (const [bad, problem] of [
      [{ url: "guard" }, "words.url"],
      [{ ...words, on: [] }, '"request", "response" or both'],
      [{ ...words, timeoutMs: 60_001 }, "words.timeoutMs"],
      [{ ...words, onFailure: "open" }, "words.onFailure"],
      [{ ...words, timeout: 1 }, "words.timeout"],
    ] as const)
      expect(() => parseConfig({ gateway: { checkers: { words: bad } } }, noEnv)).toThrow(problem);
  });

  it("takes what a gateway adds to streams, in numbers above 0", () => {
    const gateway = { resume: { seconds: 60, bytes: 1_000_000 }, sseKeepAliveSeconds: 15 };
    expect(parseConfig({ gateway }, noEnv)).toEqual({ gateway });
    expect(parseConfig({ gateway: { resume: {} } }, noEnv)).toEqual({ gateway: { resume: {} } });
    for (const [bad, key] of [
      [{ resume: { seconds: 0 } }, "gateway.resume.seconds"],
      [{ resume: { bytes: "1" } }, "gateway.resume.bytes"],
      [{ sseKeepAliveSeconds: -1 }, "gateway.sseKeepAliveSeconds"],
      [{ firstByteSeconds: 0 }, "gateway.firstByteSeconds"],
      [{ silenceSeconds: 0 }, "gateway.silenceSeconds"],
    ] as const) {
      expect(() => parseConfig({ gateway: bad }, noEnv)).toThrow(key);
    }
  });

  it("takes the models of the automatic router", () => {
    const candidate = {
      model: "openai/gpt-5-mini",
      price: { input: 0.25, output: 2, cached: 0.025 },
      contextTokens: 400_000,
      lacks: ["audio"],
    };
    const router = { candidates: [candidate], sessions: 100, sessionSeconds: 600 };
    expect(parseConfig({ gateway: { router } }, noEnv)).toEqual({ gateway: { router } });
    for (const [bad, problem] of [
      [{}, "gateway.router.candidates"],
      [{ candidates: [] }, "at least one model"],
      [{ candidates: [{ ...candidate, lacks: ["speech"] }] }, "candidates.0.lacks.0"],
      [{ candidates: [{ ...candidate, price: { input: -1, output: 0 } }] }, "price.input"],
      [{ candidates: [{ name: "x" }] }, "gateway.router.candidates.0"],
      [{ candidates: [candidate], choose: "x" }, 'Unknown configuration key "gateway.router.ch'],
    ] as const) {
      expect(() => parseConfig({ gateway: { router: bad } }, noEnv)).toThrow(problem);
    }
  });

  it("takes bounds of the semantic cache, and none", () => {
    const semanticCache = { threshold: 0.9, maxEntries: 10_000, maxTextLength: 1, maxMessages: 1 };
    for (const gateway of [{ semanticCache }, { semanticCache: {} }])
      expect(parseConfig({ gateway }, noEnv)).toEqual({ gateway });
    for (const bad of [{ threshold: 1.1 }, { maxEntries: 0 }, { timeoutMs: 60_001 }]) {
      const [key = ""] = Object.keys(bad);
      expect(() => parseConfig({ gateway: { semanticCache: bad } }, noEnv)).toThrow(
        `gateway.semanticCache.${key}`,
      );
    }
  });

  it("takes sizes of the cache, and no stored one", () => {
    for (const gateway of [
      { cacheBytes: 2_000_000, storedCacheBytes: 0 },
      { storedCacheBytes: 2 ** 30 },
    ])
      expect(parseConfig({ gateway }, noEnv)).toEqual({ gateway });
    for (const key of ["cacheBytes", "storedCacheBytes"]) {
      expect(() => parseConfig({ gateway: { [key]: 1000 } }, noEnv)).toThrow(
        new RegExp(
          `gateway.${key}": expected (?:0 or at least 1048576|a whole number from 1048576 to)`,
        ),
      );
    }
  });

  it("takes the hosted service's status of a provider that gives no answer, and no other", () => {
    const gateway = { compat2005: 400 };
    expect(parseConfig({ gateway }, noEnv)).toEqual({ gateway });
    expect(() => parseConfig({ gateway: { compat2005: 500 } }, noEnv)).toThrow(
      "gateway.compat2005",
    );
  });

  it("takes origins of agents as browsers send them", () => {
    const agents = { origins: ["https://app.example", "http://localhost:5173"] };
    expect(parseConfig({ agents }, noEnv)).toEqual({ agents });
    expect(() => parseConfig({ agents: { origins: ["https://app.example/"] } }, noEnv)).toThrow(
      "agents.origins.0",
    );
  });

  it("refuses an unknown top-level key and offers the nearest one", () => {
    expect(() => parseConfig({ gatway: {} }, noEnv)).toThrow(
      'Unknown configuration key "gatway": did you mean "gateway"?',
    );
  });

  it("refuses an unknown nested key and offers the nearest one", () => {
    const config = { gateway: { providers: { openai: { baseURL: "https://x.example/v1" } } } };
    expect(() => parseConfig(config, noEnv)).toThrow(
      'Unknown configuration key "gateway.providers.openai.baseURL": did you mean "baseUrl"?',
    );
  });

  it("names the key of a value of the wrong type", () => {
    expect(() => parseConfig({ port: "8787" }, noEnv)).toThrow('Configuration key "port": ');
  });

  it("says where the JSON is malformed", () => {
    expect(() => parseConfig("{", noEnv)).toThrow("The configuration is not valid JSON");
  });

  it("takes the parts of which the log says more, and lists them to who names another", () => {
    expect(parseConfig({ debug: ["gateway", "search"] }, noEnv).debug).toEqual([
      "gateway",
      "search",
    ]);
    expect(() => parseConfig({ debug: ["gateway", "serch"] }, noEnv)).toThrow(
      'Configuration key "debug.1": expected one of gateway, rendering, search, webhooks, agents, deprecations, ' +
        'console, platform: did you mean "search"?',
    );
  });

  it("quotes no value: it may be a secret in the wrong place", () => {
    const bad = [
      { gateway: { providers: { openai: "sk-secret" } } },
      { gateway: { providers: { openai: { apiKey: "sk-1", baseUrl: "sk-secret" } } } },
      { tokens: "sk-secret" },
      '{"apiKey": "sk-secret" "x"}',
      '{"apiKey": sk-secret}',
      '{"apiKey": "x",\n sk-secret: 1}',
    ];
    for (const one of bad) {
      expect(() => parseConfig(one, noEnv)).toThrow(/^(?!.*secret)/s);
    }
  });

  it("takes a byte order mark at the beginning", () => {
    expect(parseConfig('\uFEFF{"port": 0}', noEnv)).toEqual({ port: 0 });
  });

  it("refuses addresses that nothing can be asked at", () => {
    const provider = (baseUrl: string): unknown => ({
      gateway: { providers: { openai: { baseUrl } } },
    });
    expect(() => parseConfig(provider("ftp://x.example/v1"), noEnv)).toThrow("http or https URL");
    expect(() => parseConfig(provider("not a url"), noEnv)).toThrow("absolute URL");
    expect(parseConfig({ rendering: { endpoint: "ws://127.0.0.1:9222/x" } }, noEnv)).toBeTruthy();
  });

  it("refuses an empty host, which would be every network, and an empty folder", () => {
    expect(() => parseConfig({ host: "" }, noEnv)).toThrow('Configuration key "host": ');
    expect(() => parseConfig({ dataDir: "" }, noEnv)).toThrow('Configuration key "dataDir": ');
  });

  it("gives tokens every account unless accounts are named", () => {
    const config = parseConfig(
      { tokens: [{ token: "0123456789abcdef", permissions: ["*"] }] },
      noEnv,
    );
    expect(config.tokens?.[0]?.accounts).toEqual(["*"]);
  });
});

describe("the master key", () => {
  const env = (name: string): string | undefined =>
    name === "CAUSEY_MASTER_KEY" ? "a key of the environment" : undefined;

  it("is that of the environment before that of the file", () => {
    const file = { gateway: { masterKey: "a key of the file....", gateways: { g: {} } } };
    expect(parseConfig(file, env).gateway).toEqual({
      masterKey: "a key of the environment",
      gateways: { g: {} },
    });
    expect(parseConfig({}, env).gateway?.masterKey).toBe("a key of the environment");
    expect(parseConfig(file, () => undefined).gateway?.masterKey).toBe("a key of the file....");
  });

  it("has at least 16 characters, a former one too", () => {
    const none = (): undefined => undefined;
    expect(() => parseConfig({ gateway: { masterKey: "short" } }, none)).toThrow(
      /gateway.masterKey/,
    );
    expect(() => parseConfig({ gateway: { formerMasterKeys: ["x"] } }, none)).toThrow(
      /at least 16/,
    );
  });
});
