import type { ApiError } from "../http/api-error.ts";
import type { Platform } from "../ports.ts";
import type { OwnedWork } from "../work/owned-work.ts";
import { splitLong } from "./read-body.ts";
import { tooLate } from "./page/render.ts";
import type { Shortcut } from "./static/shortcut.ts";
import { within } from "./input/timers.ts";
import { type PageUpload, uploadOf } from "./upload/read-upload.ts";

/** A request taken apart: the body as JSON, and the page where that came in a form or is long. */
export interface SentParts {
  readonly upload: PageUpload | null;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly page: Uint8Array<ArrayBuffer> | null;
}

/** The request, and who is told of fields that have no effect. */
interface SentCall {
  readonly request: Request;
  readonly onUnknown: (messages: readonly string[]) => void;
}

/** How {@link sentParts} reads. */
interface SentOptions {
  readonly takesUpload: boolean;
  readonly shortcut: Shortcut;
  readonly platform: Platform;
  readonly work: OwnedWork;
  readonly requestMs: number;
  /** Turns a failure into the error that the caller is told. */
  readonly reportable: (error: unknown, platform: Platform, signal: AbortSignal) => ApiError;
}

/** Takes apart what was sent, beside the event loop where it is long; the answer itself where the shortcut has one. */
export async function sentParts(
  sent: Uint8Array<ArrayBuffer>,
  { request, onUnknown }: SentCall,
  { takesUpload: isTaken, shortcut, platform, work, requestMs, reportable }: SentOptions,
): Promise<SentParts | Response> {
  const { background } = work;
  const beside = <R>(read: (signal: AbortSignal) => Promise<R>): Promise<R> =>
    within(
      { ms: requestMs, system: platform.system, signal: request.signal, expired: tooLate },
      read,
    ).catch((error: unknown) => {
      throw reportable(error, platform, request.signal);
    });
  const upload = await beside((signal) => uploadOf(request, sent, { isTaken, background, signal }));
  const given = upload?.options ?? (await shortcut(sent, work, request.signal, onUnknown));
  if (given instanceof Response) return given;
  const { bytes, html } = await beside((signal) => splitLong(given, background, signal));
  return { upload, bytes, page: upload?.html ?? html };
}
