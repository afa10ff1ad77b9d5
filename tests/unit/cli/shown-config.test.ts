import { describe, expect, it } from "vitest";
import { shownConfig } from "../../../adapters/cli/config/shown-config.ts";
import { writtenConfig } from "../../../adapters/cli/context/settings.ts";

const SECRET = "a-secret-of-some-length";

/** What is shown of a file, with these flags and variables. */
function show(file: object, flags: Record<string, string> = {}, env: Record<string, string> = {}) {
  const read = (name: string): string | undefined => env[name];
  const all = new Map(Object.entries({ config: "causey.json", ...flags }));
  return shownConfig(
    writtenConfig(all, read, () => JSON.stringify(file)),
    read,
  );
}

describe("the shown configuration", () => {
  it("says of each setting where it comes from", () => {
    const shown = show(
      { port: 1, host: "0.0.0.0", webhooks: { allowHosts: ["a.example"] } },
      { port: "2" },
      { CAUSEY_ACCOUNT_ID: "acme", CAUSEY_PORT: "3" },
    );
    expect(shown).toEqual(
      expect.arrayContaining([
        { key: "port", value: 2, source: "--port" },
        { key: "host", value: "0.0.0.0", source: "causey.json" },
        { key: "accountId", value: "acme", source: "CAUSEY_ACCOUNT_ID" },
        { key: "webhooks.allowHosts.0", value: "a.example", source: "causey.json" },
        { key: "dataDir", value: ".causey", source: "default" },
      ]),
    );
  });

  it("shows the days and modes of deprecations", () => {
    const id = "0123456789abcdef0123456789abcdef";
    const deprecations = { pins: { [id]: "2024-06-01" }, mode: "warn" };
    expect(show({ deprecations })).toEqual(
      expect.arrayContaining([
        { key: `deprecations.pins.${id}`, value: "2024-06-01", source: "causey.json" },
        { key: "deprecations.mode", value: "warn", source: "causey.json" },
      ]),
    );
  });

  it("hides every secret, and what no key says of", () => {
    const file = {
      tokens: [{ token: SECRET, permissions: ["*"] }],
      gateway: {
        masterKey: SECRET,
        formerMasterKeys: [SECRET],
        providers: {
          openai: { apiKey: SECRET, baseUrl: `https://me:${SECRET}@a.example/v1?key=${SECRET}` },
        },
        gateways: {
          main: {
            tokens: [SECRET],
            keys: { openai: SECRET, groq: { model: SECRET } },
            routes: { r: [{ x: SECRET }] },
          },
        },
        judge: { baseUrl: "https://b.example/", model: "m", headers: { model: SECRET } },
      },
      rendering: { endpoint: `wss://c.example/?token=${SECRET}` },
      webhooks: {
        masterSecret: SECRET,
        sources: {
          one: {
            scheme: "github",
            secret: SECRET,
            secrets: [SECRET, { secret: SECRET }],
            entitySecrets: { name: SECRET },
          },
        },
      },
      later: { unheardOf: SECRET },
    };
    const shown = show(file, {}, { CAUSEY_MASTER_KEY: SECRET });
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(shown).toContainEqual({
      key: "webhooks.sources.one.scheme",
      value: "github",
      source: "causey.json",
    });
    expect(shown).toContainEqual({
      key: "gateway.masterKey",
      value: "(hidden)",
      source: "CAUSEY_MASTER_KEY",
    });
    expect(shown).toContainEqual({
      key: "gateway.providers.openai.baseUrl",
      value: "https://a.example/v1 (rest hidden)",
      source: "causey.json",
    });
  });

  it("names the variable that a secret is read from", () => {
    const file = { gateway: { providers: { openai: { apiKey: "env:OPENAI_API_KEY" } } } };
    expect(show(file, {}, { OPENAI_API_KEY: SECRET })).toContainEqual({
      key: "gateway.providers.openai.apiKey",
      value: "env:OPENAI_API_KEY",
      source: "causey.json",
    });
  });
});
