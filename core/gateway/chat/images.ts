import { bodyUpTo } from "../../http/stream.ts";
import { base64InSteps } from "../../http/json/long-json.ts";
import { ApiError } from "../../http/api-error.ts";
import type { InboundResponse, Platform } from "../../ports.ts";
import { TransportError, type TransportErrorReason } from "../../net/transport-error.ts";
import type { Chat, ChatContent, ChatPart } from "./chat-format.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { withinMs } from "../../time/within-ms.ts";

/** Images that one request may have fetched. */
const IMAGES = 16;
/** Bytes of them all together, as fetched. */
const TOTAL_LIMIT = 20 * 1024 * 1024;
/** Milliseconds for all of them. */
const TIMEOUT = 15_000;
const REDIRECTS = 3;

/** The rest of the request's allowance. */
interface Budget {
  bytes: number;
  readonly system: Platform["system"];
}

/**
 * Replaces the chat's `http(s)` images by `data:` URLs, for providers that do not fetch images. They come through the
 * platform's `egress`, so only public addresses are reached: at most 16 images, 20 MiB together, in 15 s. Throws
 * `chat_format` for an image that cannot be fetched.
 */
export async function withInlineImages(
  chat: Chat,
  platform: Pick<Platform, "egress" | "system">,
  signal: AbortSignal,
): Promise<Chat> {
  const urls = new Set(chat.messages.flatMap(({ content }) => remoteImages(content)));
  if (urls.size === 0) return chat;
  if (urls.size > IMAGES) {
    throw new ApiError("chat_format", {
      message: `image_url: at most ${IMAGES} images are fetched for this provider, send data: URLs`,
    });
  }
  const inlined = await fetchAll([...urls], platform, signal);
  const messages = chat.messages.map((message) => ({
    ...message,
    content: replaced(message.content, inlined),
  }));
  return { ...chat, messages };
}

function remoteImages(content: ChatContent): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) =>
    part.type === "image_url" && isRemote(part.image_url.url) ? [part.image_url.url] : [],
  );
}

/** Gemini reads its own files itself. */
function isRemote(url: string): boolean {
  return /^https?:\/\//i.test(url) && !url.startsWith("https://generativelanguage.googleapis.com/");
}

function replaced(content: ChatContent, inlined: ReadonlyMap<string, string>): ChatContent {
  if (!Array.isArray(content)) return content;
  return content.map((part): ChatPart => {
    const url = part.type === "image_url" ? inlined.get(part.image_url.url) : undefined;
    return url === undefined ? part : { type: "image_url", image_url: { url } };
  });
}

async function fetchAll(
  urls: readonly string[],
  { egress, system }: Pick<Platform, "egress" | "system">,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const budget: Budget = { bytes: TOTAL_LIMIT, system };
  const failing = new AbortController();
  const fetchOne = async (url: string, either: AbortSignal): Promise<readonly [string, string]> => {
    try {
      return [url, await fetchImage(url, egress, either, budget)];
    } catch (error) {
      throw failed(url, error);
    }
  };
  const fetchEach = (either: AbortSignal): Promise<(readonly [string, string])[]> =>
    Promise.all(urls.map((url) => fetchOne(url, either)));
  try {
    const signals = AbortSignal.any([signal, failing.signal]);
    return new Map(await withinMs({ ms: TIMEOUT, signal: signals, system }, fetchEach));
  } catch (error) {
    // One failure fails the request, so the other downloads can stop.
    failing.abort(error);
    throw error;
  }
}

const reasons: Readonly<Record<TransportErrorReason, string>> = {
  refused: "it is not at a public address",
  unreachable: "nothing answers there",
  late: `it took more than ${TIMEOUT} ms`,
  aborted: `it took more than ${TIMEOUT} ms`,
  broken: "the answer broke off",
};

/** Names the caller's own URL, without the query in which a signature may stand. */
function failed(url: string, error: unknown): unknown {
  if (!(error instanceof ApiError) && !(error instanceof TransportError)) return error;
  const why = error instanceof ApiError ? error.message : reasons[error.reason];
  const place = url.replace(/[?#].*$/s, "").slice(0, 128);
  return new ApiError("chat_format", {
    message: `image_url: "${place}" cannot be fetched for this provider: ${why}`,
    cause: error,
  });
}

async function fetchImage(
  given: string,
  egress: Platform["egress"],
  signal: AbortSignal,
  budget: Budget,
): Promise<string> {
  let url = given;
  for (let hops = 0; hops <= REDIRECTS; hops++) {
    const answer = await egress.send({
      method: "GET",
      url,
      headers: [
        ["accept", "image/*"],
        ["accept-encoding", "identity"],
        ["user-agent", "causey"],
      ],
      signal,
    });
    const to = headerValue(answer.headers, "location");
    if (answer.status < 300 || answer.status > 399 || to === null) return dataOf(answer, budget);
    if (answer.body instanceof ReadableStream) await answer.body.cancel().catch(() => undefined);
    url = resolved(to, url);
  }
  throw wrong(`more than ${REDIRECTS} redirects`);
}

function resolved(to: string, from: string): string {
  if (URL.canParse(to, from)) {
    const url = new URL(to, from);
    if (url.protocol === "http:" || url.protocol === "https:") return url.href;
  }
  throw wrong("a redirect to something other than an http(s) address");
}

function wrong(what: string): ApiError {
  return new ApiError("chat_format", { message: what });
}

async function dataOf(answer: InboundResponse, budget: Budget): Promise<string> {
  const type = /^image\/[\w.+-]{1,64}/i.exec(
    headerValue(answer.headers, "content-type") ?? "",
  )?.[0];
  const encoding = headerValue(answer.headers, "content-encoding") ?? "identity";
  const usable = answer.status === 200 && type !== undefined && encoding === "identity";
  if (!usable || answer.body === null) {
    if (answer.body instanceof ReadableStream) await answer.body.cancel().catch(() => undefined);
    throw wrong(answer.status === 200 ? "it is not an image" : `status ${answer.status}`);
  }
  const count = (size: number): void => spend(budget, size);
  const bytes = await bodyUpTo(answer.body, TOTAL_LIMIT, count);
  if (bytes === null) throw tooMany();
  return `data:${type.toLowerCase()};base64,${await base64InSteps(bytes, budget.system)}`;
}

function tooMany(): ApiError {
  return wrong(`the images are larger than ${TOTAL_LIMIT} bytes`);
}

function spend(budget: Budget, size: number): void {
  budget.bytes -= size;
  if (budget.bytes < 0) throw tooMany();
}
