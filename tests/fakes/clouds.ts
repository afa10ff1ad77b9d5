import { toBase64, toHex, utf8 } from "../../core/crypto/encoding.ts";
import type { OutboundRequest } from "../../core/ports.ts";
import { sentHeaders } from "./gateway-transport.ts";

/** A service account made for a test, and what verifies its signatures. */
export interface TestAccount {
  /** The JSON of its key. */
  readonly json: string;
  /** Returns the claims of a signed assertion; throws for a wrong signature. */
  claimsOf(assertion: string): Promise<Record<string, unknown>>;
}

const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

/** Makes a service account with a key of its own. */
export async function testAccount(): Promise<TestAccount> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { ...RS256, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
    true,
    ["sign", "verify"],
  );
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  const lines = toBase64(pkcs8).replaceAll(/.{64}/g, "$&\n");
  return {
    json: JSON.stringify({
      type: "service_account",
      project_id: "demo-project",
      private_key_id: "key-1",
      private_key: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
      client_email: "gateway@demo-project.iam.gserviceaccount.com",
      token_uri: "https://evil.example/token",
    }),
    async claimsOf(assertion) {
      const [head = "", claims = "", signature = ""] = assertion.split(".");
      const isSigned = await crypto.subtle.verify(
        RS256.name,
        publicKey,
        fromBase64Url(signature),
        utf8(`${head}.${claims}`),
      );
      if (!isSigned) throw new Error("The assertion is not signed by the account's key");
      return {
        ...(JSON.parse(new TextDecoder().decode(fromBase64Url(head))) as object),
        ...(JSON.parse(new TextDecoder().decode(fromBase64Url(claims))) as object),
      };
    },
  };
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (one) => one.codePointAt(0) ?? 0);
}

async function sha256(text: string | Uint8Array): Promise<string> {
  const bytes = typeof text === "string" ? utf8(text) : new Uint8Array(text);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const made = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", made, utf8(text)));
}

/**
 * Computes the signature of a request as Amazon does (Signature Version 4), and returns the header that it should have; the
 * path is encoded once more, as for every service but S3.
 */
export async function expectedSignature(
  request: OutboundRequest,
  { id, secret, region }: { readonly id: string; readonly secret: string; readonly region: string },
): Promise<string> {
  const headers = sentHeaders(request);
  const given = headers["authorization"] ?? "";
  const signedNames = /SignedHeaders=([^,]+)/.exec(given)?.[1] ?? "";
  const url = new URL(request.url);
  const values: Record<string, string | undefined> = { ...headers, host: url.host };
  const canonicalHeaders = signedNames.split(";").map((name) => `${name}:${values[name]}\n`);
  const path = url.pathname.split("/").map(encodeURIComponent).join("/");
  const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
  const canonical = [
    request.method,
    path,
    url.search.slice(1),
    canonicalHeaders.join(""),
    signedNames,
    await sha256(body),
  ].join("\n");
  const at = headers["x-amz-date"] ?? "";
  const scope = `${at.slice(0, 8)}/${region}/bedrock/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", at, scope, await sha256(canonical)].join("\n");
  let key = utf8(`AWS4${secret}`);
  for (const part of scope.split("/")) key = await hmac(key, part);
  const signature = toHex(await hmac(key, toSign));
  return `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`;
}

/** Makes a frame of Amazon's event stream with these headers, without checksums. */
export function awsFrame(
  headers: Readonly<Record<string, string>>,
  payload: unknown,
): Uint8Array<ArrayBuffer> {
  const head = Object.entries(headers).flatMap(([name, value]) => [
    name.length,
    ...utf8(name),
    7,
    value.length >> 8,
    value.length & 255,
    ...utf8(value),
  ]);
  const body = utf8(JSON.stringify(payload));
  const frame = new Uint8Array(12 + head.length + body.length + 4);
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length);
  view.setUint32(4, head.length);
  frame.set(head, 12);
  frame.set(body, 12 + head.length);
  return frame;
}

/** Makes the frame of an event of a model. */
export function modelFrame(event: object): Uint8Array<ArrayBuffer> {
  return awsFrame(
    { ":message-type": "event", ":event-type": "chunk", ":content-type": "application/json" },
    { bytes: toBase64(utf8(JSON.stringify(event))), p: "abc" },
  );
}
