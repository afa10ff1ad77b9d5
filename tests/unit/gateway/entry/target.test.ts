import { describe, expect, it } from "vitest";
import { filterQuery, rawTail, redactQuery } from "../../../../core/gateway/wire/raw-path.ts";
import { resolveTarget } from "../../../../core/gateway/providers/target.ts";

const url = (slug: string, rest: string, providers = {}): string =>
  resolveTarget(slug, { providers, demo: true }, { rest, query: "" }).url;

describe("resolveTarget()", () => {
  it.each([
    ["openai", "chat/completions", "https://api.openai.com/v1/chat/completions"],
    ["openai", "v1/chat/completions", "https://api.openai.com/v1/chat/completions"],
    ["grok", "chat/completions", "https://api.x.ai/v1/chat/completions"],
    ["grok", "v1/chat/completions", "https://api.x.ai/v1/chat/completions"],
    ["mistral", "v1/embeddings", "https://api.mistral.ai/v1/embeddings"],
    ["openrouter", "chat/completions", "https://openrouter.ai/api/v1/chat/completions"],
    ["groq", "chat/completions", "https://api.groq.com/openai/v1/chat/completions"],
    ["anthropic", "v1/messages", "https://api.anthropic.com/v1/messages"],
    [
      "google-ai-studio",
      "v1beta/models/gemini-x:generateContent",
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent",
    ],
    [
      "azure-openai",
      "res/dep/chat/completions",
      "https://res.openai.azure.com/openai/deployments/dep/chat/completions",
    ],
    [
      "azure-openai",
      "my-res/gpt-4.1-mini/chat/completions",
      "https://my-res.openai.azure.com/openai/deployments/gpt-4.1-mini/chat/completions",
    ],
    [
      "aws-bedrock",
      "bedrock-runtime/us-east-1/model/m/invoke",
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke",
    ],
    [
      "google-vertex-ai",
      "v1/projects/p/locations/europe-west1/publishers/google/models/m:predict",
      "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/google/models/m:predict",
    ],
  ])("sends %s %s to %s", (slug, rest, expected) => {
    expect(url(slug, rest)).toBe(expected);
  });

  it.each([
    // groq-sdk, and clients whose base URL ends as the provider's own does
    ["groq", "openai/v1/chat/completions", "https://api.groq.com/openai/v1/chat/completions"],
    ["groq", "openai/v1x/chat", "https://api.groq.com/openai/v1/openai/v1x/chat"],
    ["fireworks", "inference/v1/models", "https://api.fireworks.ai/inference/v1/models"],
    ["openrouter", "api/v1/models", "https://openrouter.ai/api/v1/models"],
    // an SDK that brings the version, with a base URL that has it
    ["anthropic", "v1/v1/messages", "https://api.anthropic.com/v1/messages"],
    ["cohere", "v1/v1/chat", "https://api.cohere.com/v1/chat"],
    ["cohere", "v1/v1x", "https://api.cohere.com/v1/v1x"],
    // the OpenAI SDK, with a base URL without the version
    ["grok", "responses", "https://api.x.ai/v1/responses"],
    ["mistral", "embeddings", "https://api.mistral.ai/v1/embeddings"],
    ["openrouter", "alpha/responses", "https://openrouter.ai/api/alpha/responses"],
    ["replicate", "predictions", "https://api.replicate.com/v1/predictions"],
    ["replicate", "v1/predictions/x", "https://api.replicate.com/v1/predictions/x"],
  ])("sends what the SDKs of %s make of its base URL, %s, to %s", (slug, rest, expected) => {
    expect(url(slug, rest)).toBe(expected);
  });

  it.each([
    ["res/openai/deployments/d.1/embeddings", "openai/deployments/d.1/embeddings"],
    ["res/openai/v1/responses", "openai/v1/responses"],
    ["res/openai/files/f", "openai/files/f"],
    ["res/deployments/d/chat/completions", "openai/deployments/d/chat/completions"],
    ["res/my.d/deployments/gpt-4o/embeddings", "openai/deployments/my.d/embeddings"],
    ["res/openai/chat/completions", "openai/deployments/openai/chat/completions"],
    ["res/openai/images/generations", "openai/deployments/openai/images/generations"],
  ])("takes %s of Azure's own client for %s of the resource", (rest, expected) => {
    expect(url("azure-openai", rest)).toBe(`https://res.openai.azure.com/${expected}`);
  });

  it("finds the hosts of Bedrock's and Vertex AI's other endpoints", () => {
    expect(url("aws-bedrock", "bedrock-mantle/us-east-1/anthropic/v1/messages")).toBe(
      "https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages",
    );
    for (const [place, host] of [
      ["us", "aiplatform.us.rep.googleapis.com"],
      ["eu", "aiplatform.eu.rep.googleapis.com"],
      ["global", "aiplatform.googleapis.com"],
      ["usx", "aiplatform.googleapis.com"],
    ]) {
      const path = `v1/projects/p/locations/${place}/publishers/anthropic/models/m:rawPredict`;
      expect(url("google-vertex-ai", path)).toBe(`https://${host}/${path}`);
    }
  });

  it("keeps what a custom provider's path repeats: nobody knows its paths", () => {
    const providers = { "custom-mine": { baseUrl: "https://mine.test/api" } };
    expect(url("custom-mine", "api/v1/v1/x", providers)).toBe("https://mine.test/api/api/v1/v1/x");
  });

  it.each(["http://h/v1", "http://h/v1/", "http://h"])(
    "never doubles v1 with the base URL %s",
    (baseUrl) => {
      const providers = { openai: { baseUrl } };
      expect(url("openai", "chat/completions", providers)).toBe("http://h/v1/chat/completions");
      expect(url("openai", "v1/chat/completions", providers)).toBe("http://h/v1/chat/completions");
    },
  );

  it("never doubles another version either", () => {
    const providers = {
      "google-ai-studio": { baseUrl: "http://h/v1beta" },
      cohere: { baseUrl: "http://h/v2/" },
    };
    expect(url("google-ai-studio", "v1beta/models", providers)).toBe("http://h/v1beta/models");
    expect(url("google-ai-studio", "models", providers)).toBe("http://h/v1beta/models");
    expect(url("cohere", "v2", providers)).toBe("http://h/v2/");
    expect(url("cohere", "v2x/chat", providers)).toBe("http://h/v2/v2x/chat");
    expect(url("cohere", "v1/models", providers)).toBe("http://h/v2/v1/models");
  });

  it.each(["../x", "a/../../x", "%2e%2E/x", "a/.%2e", "a\\..\\b", "./x"])(
    "refuses the path %s",
    (rest) => {
      expect(() => url("openai", rest)).toThrow(/dot segments/);
    },
  );

  it.each([
    "a#b",
    "a\\b",
    "v1/%6Dodels/x",
    "v1/%2e%2Ex",
    "a\tb",
    ".\t./x",
    "a\nb",
    "a\0",
    " a",
    "v1/.. ",
  ])("refuses the path %j, which a parser would change", (rest) => {
    expect(() => url("openai", rest)).toThrow(/path must not contain/);
  });

  it.each(["evil.com#", "evil.com", "evil.com:80", "a@b", "", "a%2fb"])(
    "refuses the resource name %s in a host",
    (name) => {
      const refused = /starts with|must not contain "#"/;
      expect(() => url("azure-openai", `${name}/dep/chat`)).toThrow(refused);
      expect(() => url("aws-bedrock", `bedrock-runtime/${name}/model`)).toThrow(refused);
    },
  );

  it.each(["nope", "constructor", "__proto__", "custom-x", "baseten"])(
    "does not know %s unconfigured",
    (slug) => {
      expect(() => url(slug, "x")).toThrow();
    },
  );

  it("sends a configured custom provider to its base URL", () => {
    expect(
      url("custom-mine", "a/b", { "custom-mine": { baseUrl: "https://mine.test/api/" } }),
    ).toBe("https://mine.test/api/a/b");
  });
});

describe("rawTail()", () => {
  it("keeps escapes, colons, doubled slashes and the query as they were written", () => {
    const tail = rawTail("http://h/v1/a/g/openai/x%2Fy//z:do?q=%20+&q=2#no", 4);
    expect(tail).toEqual({ rest: "x%2Fy//z:do", query: "?q=%20+&q=2" });
  });

  it("is empty when nothing follows", () => {
    expect(rawTail("http://h/v1/a/g/openai", 4)).toEqual({ rest: "", query: "" });
    expect(rawTail("http://h/v1/a/g/openai?x=1", 4)).toEqual({ rest: "", query: "?x=1" });
  });
});

describe("redactQuery()", () => {
  it("takes out values that can be secrets, also behind an escaped name", () => {
    expect(redactQuery("?key=S&alt=sse&api_key=S&k%65y=S&%zz=S&bearer=S&pat=S&path=p")).toBe(
      "?key=REDACTED&alt=sse&api_key=REDACTED&k%65y=REDACTED&%zz=REDACTED&bearer=REDACTED&pat=REDACTED&path=p",
    );
  });
});

describe("filterQuery()", () => {
  it("drops what it is told to and leaves the rest byte for byte", () => {
    expect(filterQuery("?a=%41&b=2&c", (value) => value === "2")).toBe("?a=%41&c");
    expect(filterQuery("?a=%41&key", (value) => value === "key")).toBe("?a=%41");
    expect(filterQuery("?b=2", () => true)).toBe("");
  });
});
