import type { CdpData } from "../cdp/cdp.ts";
import { longBase64 } from "../../http/json/long-json.ts";

/** Files of an upload, which answer the requests of its page to {@link UPLOAD}. */
export interface UploadedFiles {
  /** By their names. */
  readonly files: ReadonlyMap<string, UploadedFile>;
}

/** One of them. */
export type UploadedFile = {
  readonly type: string;
  readonly bytes: Uint8Array;
};

/** The page of an upload: relative addresses start here. No name ends in `.invalid` (RFC 2606), so nothing else is meant by it. */
export const UPLOAD = "http://upload.invalid/index.html";

const ORIGIN = new URL(UPLOAD).origin;

/** Whether an address is one of an upload. */
export function isUploaded(url: string): boolean {
  return URL.parse(url)?.origin === ORIGIN;
}

/** Answers a request for a file of an upload with the file, or 404; nothing is ever loaded from there. */
export function fileAnswer(requestId: unknown, url: string, { files }: UploadedFiles): CdpData {
  const file = files.get(nameOf(url));
  return {
    requestId,
    responseCode: file === undefined ? 404 : 200,
    responseHeaders: [{ name: "content-type", value: file?.type ?? "text/plain" }],
    body: file === undefined ? "" : longBase64(file.bytes),
  };
}

function nameOf(url: string): string {
  const { pathname } = new URL(url);
  try {
    return decodeURIComponent(pathname.slice(1));
  } catch {
    return "";
  }
}
