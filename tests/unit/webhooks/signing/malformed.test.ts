import { describe, expect, it, vi } from "vitest";
import { toBase64, toHex, utf8 } from "../../../../core/crypto/encoding.ts";
import { prepareKey } from "../../../../core/webhooks/signing/keys.ts";
import type { Scheme } from "../../../../core/webhooks/signing/scheme.ts";
import { schemes } from "../../../../core/webhooks/signing/schemes.ts";
import { signLike } from "../../../../core/webhooks/signing/sign.ts";
import { verify, type Refusal } from "../../../../core/webhooks/signing/verify.ts";
import { noPublishedKeys } from "../../../fakes/webhooks-published.ts";

const NOW = 1_700_000_000_000;

/** What an attacker writes where the bytes of a signature belong. */
const bytes: readonly Uint8Array[] = [0, 1, 8, 20, 31, 32, 33, 63, 64, 65, 70, 72, 128, 2000].map(
  (length) => new Uint8Array(length).fill(0x30),
);

/** Well-formed DER, but for its numbers. */
const der = ["3006020100020100", "30060201ff0201ff", "3000", "30800201010201010000", "300602"].map(
  (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)),
);

/** Texts that are no bytes in any encoding. */
const texts = ["", " ", "=", "==", "!", "zz", "%00", "AA=A", "A", "-_-_", "0".repeat(9000)];

function written(scheme: Scheme, text: string): string[] {
  const { format } = scheme;
  const time = String(NOW / 1000);
  if (format.kind === "versions") {
    const joined = `v1,${text} v1a,${text}`;
    return [`v1,${text}`, `v1a,${text}`, joined, text, `v1 ${text}`, `v2,${text}`];
  }
  if (format.kind === "single") return [`${format.prefix ?? ""}${text}`, text, `${text}, ${text}`];
  const stamp = scheme.timestamp?.source === "pair:ts" ? "ts" : "t";
  const [open, shut] = [`${stamp}=${time}${format.separator}`, `${format.key}=${text}`];
  const several = `${open}${shut}${format.separator}${shut}`;
  return [open + shut, several, shut, open, `${open}${open}${shut}`, text];
}

const publicKeys: Readonly<Record<string, string>> = {
  discord: toHex(new Uint8Array(32).fill(7)),
  sendgrid:
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==",
};
const ED25519 = `whpk_${toBase64(new Uint8Array(32).fill(7))}`;

function secretsOf(name: string, scheme: Scheme): readonly string[] {
  if (scheme.secretForm === "whsec") return [`whsec_${"A".repeat(32)}`, ED25519];
  if (scheme.algorithm === "jwt") return ["client-1:a long enough secret"];
  return [publicKeys[name] ?? "a long enough secret"];
}

async function refusals(name: string, scheme: Scheme, text: string): Promise<(Refusal | null)[]> {
  const keys = secretsOf(name, scheme).map((secret) =>
    prepareKey(scheme, secret, "test", { remote: noPublishedKeys }),
  );
  const found: (Refusal | null)[] = [];
  for (const value of written(scheme, text)) {
    const headers = new Headers({ "svix-id": "m", "webhook-id": "m" });
    const inBody = { signature: { signature: value, timestamp: NOW / 1000, token: "t" } };
    const body = utf8(JSON.stringify({ webhookTimestamp: NOW, ...inBody }));
    for (const source of scheme.signature)
      if (source.startsWith("header:")) headers.set(source.slice("header:".length), value);
    const { source = "", unit } = scheme.timestamp ?? {};
    if (source.startsWith("header:"))
      headers.set(source.slice("header:".length), String(unit === "ms" ? NOW : NOW / 1000));
    const request = { method: "POST", url: "https://x.test/?a=%27", headers, body };
    found.push(await verify(scheme, keys, request, NOW));
  }
  return found;
}

describe("a malformed signature is a refusal with a reason, never a throw", () => {
  for (const [name, scheme] of Object.entries(schemes)) {
    it(`of ${name}`, async () => {
      const encoded = [...bytes, ...der].flatMap((one) => [toHex(one), toBase64(one)]);
      for (const text of [...texts, ...encoded]) {
        for (const refusal of await refusals(name, scheme, text))
          expect(["missing", "malformed", "mismatch"], text.slice(0, 80)).toContain(refusal);
      }
    });
  }
});

it("an Ed25519 signature of another length reaches no runtime's own check: workerd's throws", async () => {
  const check = vi.spyOn(crypto.subtle, "verify");
  try {
    for (const { length } of bytes) await refusals("discord", schemes.discord, "30".repeat(length));
    const lengths = check.mock.calls.map(([, , signature]) => signature.byteLength);
    expect(new Set(lengths)).toEqual(new Set([64]));
  } finally {
    check.mockRestore();
  }
});

describe("an apostrophe in a signed address", () => {
  it("counts as it was sent and as URL parsers write it", async () => {
    const sent = {
      method: "POST",
      body: utf8("a=1"),
      contentType: "application/x-www-form-urlencoded",
      id: "m",
      now: NOW,
    };
    for (const name of ["twilio", "square"] as const) {
      const key = prepareKey(schemes[name], "a long enough secret", "test");
      const check = async (signed: string, url: string): Promise<Refusal | null> => {
        const headers = await signLike(schemes[name], "a long enough secret", {
          ...sent,
          url: signed,
        });
        return verify(schemes[name], [key], { ...sent, headers, url }, NOW);
      };
      const raw = "https://x.test/it's?q=it's";
      const escaped = "https://x.test/it's?q=it%27s";
      expect(await check(raw, escaped)).toBeNull();
      expect(await check(raw, raw)).toBeNull();
      expect(await check(escaped, escaped)).toBeNull();
      expect(await check(raw, `${escaped}%27`)).toBe("mismatch");
      expect(await check("https://x.test/it's?q=1", "https://x.test/it%27s?q=1")).toBe("mismatch");
    }
  });
});
