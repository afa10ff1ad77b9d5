import { BoundedMap } from "../../../work/bounded-map.ts";
import { ApiError } from "../../../http/api-error.ts";
import { jsonObject, jsonText } from "../../../http/json.ts";
import type { Platform } from "../../../ports.ts";
import { utf8 } from "../../../crypto/encoding.ts";
import { TransportError } from "../../../net/transport-error.ts";
import { askedJson, type JsonAnswer } from "../../../http/asked-json.ts";
import type { CloudSecret } from "../../account/settings/provider-options.ts";
import { GOOGLE_TOKENS, readServiceAccount, tokenRequest } from "./service-account.ts";

/** Returns the access token for a credential of a cloud; throws `provider_failed` where the cloud gives none. */
export type AccessTokens = (secret: CloudSecret) => Promise<string>;

/** Credentials whose tokens are kept. */
const KEPT = 200;
/** Milliseconds before its end from which on a token is replaced. */
const EARLY_MS = 300_000;
/** Milliseconds within which a token has to be there, and bytes of the answer. */
const TOKEN_MS = 10_000;
const TOKEN_BYTES = 64 * 1024;

interface KeptToken {
  readonly token: Promise<string>;
  /** Monotonic ms. */
  until: number;
}

interface TokenQuestion {
  /** Tells credentials apart. */
  readonly key: string;
  readonly url: string;
  readonly form: () => Promise<string>;
}

/** Asks for access tokens once for all requests that wait for one, and keeps them until shortly before their end. */
export function accessTokens({
  transport: via,
  system,
}: Pick<Platform, "transport" | "system">): AccessTokens {
  const kept = new BoundedMap<string, KeptToken>(KEPT);
  const ask = async ({ url, form }: TokenQuestion): Promise<readonly [string, number]> => {
    const headers = [["content-type", "application/x-www-form-urlencoded"]] as const;
    const request = { method: "POST", url, headers, body: utf8(await form()) };
    const answer = await askedJson(request, {
      via,
      system,
      ms: TOKEN_MS,
      bytes: TOKEN_BYTES,
    }).catch((error: unknown) => {
      if (error instanceof TransportError) throw noToken(url, error.message);
      throw error;
    });
    return tokenIn(answer, url);
  };
  return (secret) => {
    const question = questionOf(secret, { system });
    const known = kept.get(question.key);
    if (known !== undefined && known.until > system.monotonic()) return known.token;
    const entry: KeptToken = {
      token: ask(question).then(
        ([token, ms]) => {
          entry.until = system.monotonic() + ms - EARLY_MS;
          return token;
        },
        (error: unknown) => {
          if (kept.get(question.key) === entry) kept.delete(question.key);
          throw error;
        },
      ),
      // On Workers a question may end with its request, without an answer: others wait no longer than it may take.
      until: system.monotonic() + 2 * TOKEN_MS,
    };
    system.waitUntil(entry.token.catch(() => undefined));
    kept.delete(question.key);
    kept.set(question.key, entry);
    return entry.token;
  };
}

function questionOf(
  { serviceAccount, tenantId, clientId, clientSecret }: CloudSecret,
  { system }: Pick<Platform, "system">,
): TokenQuestion {
  if (serviceAccount !== undefined) {
    return {
      key: serviceAccount,
      url: GOOGLE_TOKENS,
      form: async () => {
        const account = readServiceAccount(serviceAccount);
        if (account === null) throw noToken(GOOGLE_TOKENS, "its service account cannot be read");
        return tokenRequest(account, system).catch((cause: unknown) => {
          throw noToken(
            GOOGLE_TOKENS,
            "the private key of its service account cannot be used",
            cause,
          );
        });
      },
    };
  }
  // https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow
  const fields = {
    grant_type: "client_credentials",
    client_id: clientId ?? "",
    client_secret: clientSecret ?? "",
    scope: "https://cognitiveservices.azure.com/.default",
  };
  return {
    key: JSON.stringify([tenantId, clientId, clientSecret]),
    url: `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`,
    form: () => Promise.resolve(String(new URLSearchParams(fields))),
  };
}

function tokenIn({ status, value }: JsonAnswer, url: string): readonly [string, number] {
  const { access_token: token, expires_in: seconds, ...rest } = jsonObject(value);
  if (status === 200 && typeof token === "string" && /^[!-~]{1,16384}$/.test(token))
    return [token, typeof seconds === "number" && seconds > 0 ? seconds * 1000 : 0];
  const said = jsonText(rest["error_description"]) || jsonText(rest["error"]);
  throw noToken(url, said === "" ? `it answered ${status}` : said.slice(0, 200));
}

function noToken(url: string, why: string, cause?: unknown): ApiError {
  const { host } = new URL(url);
  return new ApiError("provider_failed", {
    message: `No access token came from ${host}: ${why}`,
    cause,
  });
}
