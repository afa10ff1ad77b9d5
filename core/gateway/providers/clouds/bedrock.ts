import { utf8 } from "../../../crypto/encoding.ts";
import { invalidRequest } from "../../../http/api-error.ts";
import { jsonText, parsedObject } from "../../../http/json.ts";
import { TransportError } from "../../../net/transport-error.ts";
import type {
  InboundResponse,
  OutboundRequest,
  StreamChange,
  System,
  Transport,
} from "../../../ports.ts";
import { changedStream } from "../../../http/body/changed-stream.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { streamOf } from "../../wire/reply-body.ts";
import { awsFrames } from "./aws-frames.ts";
import { eventHeaders } from "./event-headers.ts";

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** The region of an address that names none. */
  readonly region?: string | undefined;
}

const HOST = /^bedrock-runtime(?:-fips)?\.([a-z\d-]{1,40})\.amazonaws\.com(?:\.cn)?$/;

/**
 * Returns the request with a signature for Bedrock (AWS Signature Version 4,
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). It covers the address and
 * the body; headers that a proxy may change are left out. Throws `invalid_request` for what cannot be signed.
 */
export async function signedForBedrock(
  request: OutboundRequest,
  { accessKeyId, secretAccessKey, sessionToken, region: ofSettings }: AccessKey,
  system: System,
): Promise<OutboundRequest> {
  const { method, url, headers, body = null } = request;
  const region = HOST.exec(new URL(url).hostname)?.[1] ?? ofSettings;
  if (region === undefined)
    throw invalidRequest(
      `aws-bedrock: requests to ${new URL(url).hostname} need a "region" to be signed`,
    );
  if (body instanceof ReadableStream)
    throw invalidRequest(
      "aws-bedrock: a body is signed whole, and this one is too long, or of no known length",
    );
  const { AwsV4Signer } = await import("aws4fetch");
  const signer = new AwsV4Signer({
    method,
    url,
    body: body === null ? null : new Uint8Array(body),
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    service: "bedrock",
    region,
    datetime: new Date(system.now()).toISOString().replaceAll(/[:-]|\.\d{3}/gu, ""),
  });
  const signed = await signer.sign();
  const added = [...signed.headers].filter(([name]) => name !== "host");
  const names = new Set(added.map(([name]) => name));
  return { ...request, headers: [...headers.filter(([name]) => !names.has(name)), ...added] };
}

export function signing(
  via: Pick<Transport, "send">,
  key: AccessKey,
  system: System,
): Pick<Transport, "send"> {
  return { send: async (request) => via.send(await signedForBedrock(request, key, system)) };
}

/** Returns answers whose frames become server-sent events of the model's own format. */
export function unframing(via: Pick<Transport, "send">): Pick<Transport, "send"> {
  return { send: async (request) => unframed(await via.send(request)) };
}

function unframed(answer: InboundResponse): InboundResponse {
  const { headers, body } = answer;
  const type = headerValue(headers, "content-type") ?? "";
  if (body === null || !/^application\/vnd\.amazon\.eventstream\b/i.test(type)) return answer;
  const kept = headers.filter(([name]) => name !== "content-type" && name !== "content-length");
  const source = body instanceof Uint8Array ? streamOf(body) : body;
  return {
    ...answer,
    headers: [...kept, ["content-type", "text/event-stream; charset=utf-8"]],
    body: changedStream(source, framesAsEvents()),
  };
}

/** Bytes of one frame: an event of a model is far shorter. */
const FRAME_LIMIT = 16 * 1024 * 1024;
const NOTHING = new Uint8Array();

/** Anthropic's words for what breaks a stream of Bedrock off. */
const errorTypes: Readonly<Record<string, string>> = {
  throttlingException: "rate_limit_error",
  serviceUnavailableException: "overloaded_error",
  validationException: "invalid_request_error",
};

/** Turns frames into server-sent events as they come. A stream that ends within a frame breaks off. */
function framesAsEvents(): StreamChange {
  let text = "";
  const frames = awsFrames({
    limit: FRAME_LIMIT,
    frame: (headers, payload) => (text += eventText(headers, payload)),
    skipped: () => {
      throw new TransportError("broken", "The provider's stream holds an event that is too long");
    },
  });
  return {
    push(chunk) {
      text = "";
      frames.push(chunk);
      return text === "" ? NOTHING : utf8(text);
    },
    end() {
      if (frames.isOpen()) throw new TransportError("broken", "The provider broke off its stream");
      return NOTHING;
    },
  };
}

const decoder = new TextDecoder();

function eventText(headers: Uint8Array, payload: Uint8Array): string {
  const said = eventHeaders(headers);
  const value = parsedObject(decoder.decode(payload)) ?? {};
  const exception = said.get(":exception-type") ?? said.get(":error-code");
  if (exception !== undefined) {
    const type = errorTypes[exception] ?? "api_error";
    const message = jsonText(value["message"]) || (said.get(":error-message") ?? exception);
    return written({ type: "error", error: { type, message } });
  }
  const { bytes } = value;
  const text = typeof bytes === "string" ? decodedText(bytes) : "";
  const event = parsedObject(text);
  // Digits of a number that a parser rounds stay.
  return event === null ? "" : written(event, /[\r\n]/.test(text) ? undefined : text);
}

function decodedText(encoded: string): string {
  try {
    return decoder.decode(Uint8Array.from(atob(encoded), (one) => one.codePointAt(0) ?? 0));
  } catch {
    return "";
  }
}

function written(
  event: Readonly<Record<string, unknown>>,
  json: string = JSON.stringify(event),
): string {
  const name = jsonText(event["type"]);
  return `${/^\w{1,64}$/.test(name) ? `event: ${name}\n` : ""}data: ${json}\n\n`;
}
