import { ownMember } from "../../http/json.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { isMultipart, readFiles } from "../../http/fields/read-form.ts";
import type { Background, LongTask, Steps } from "../../ports.ts";
import { checkUpload, INDEX } from "./upload-schema.ts";
import { UPLOAD, type UploadedFile } from "../job/uploaded-files.ts";
import type { RenderBody } from "../input/body.ts";
import type { Job } from "../job/job.ts";

export type UploadRequest = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** With its boundary. */
  readonly contentType: string;
};

/** A page and what it consists of. */
export type PageUpload = {
  /** The fields of the rendering, as JSON. */
  readonly options: Uint8Array<ArrayBuffer>;
  /** The page, `index.html`. */
  readonly html: Uint8Array<ArrayBuffer>;
  /** The other files one behind the other, so that all of them change hands without a copy. */
  readonly contents: Uint8Array<ArrayBuffer>;
  /** Their types and where they stand in {@link contents}, by their names. */
  readonly files: { readonly [name: string]: PlacedFile };
};

type PlacedFile = { readonly type: string; readonly from: number; readonly to: number };

/**
 * Types by file name: runtimes read a part's own type differently, and a page needs the right one for its style sheets and
 * modules.
 */
const types: Readonly<Record<string, string>> = {
  avif: "image/avif",
  css: "text/css",
  gif: "image/gif",
  htm: "text/html",
  html: "text/html",
  ico: "image/x-icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  mjs: "text/javascript",
  otf: "font/otf",
  png: "image/png",
  svg: "image/svg+xml",
  ttf: "font/ttf",
  txt: "text/plain",
  wasm: "application/wasm",
  webp: "image/webp",
  woff: "font/woff",
  woff2: "font/woff2",
  xml: "application/xml",
};

/**
 * Reads an upload beside the event loop, from its bytes to what a page is given.
 *
 * @throws ApiError `invalid_request` naming the part
 */
export const readUpload: LongTask<UploadRequest, PageUpload, Steps<PageUpload>> = {
  name: "rendering/read-upload",
  load: () =>
    Promise.resolve(async function* ({ bytes, contentType }) {
      const { files: sent, others } = await readFiles(bytes, contentType);
      yield;
      const { files, options = "{}" } = checkUpload({ ...others, files: sent });
      let html: Uint8Array<ArrayBuffer> = new Uint8Array();
      const assets = files.filter(({ name }) => name !== INDEX);
      const contents = new Uint8Array(assets.reduce((sum, { size }) => sum + size, 0));
      const placed = new Map<string, PlacedFile>();
      let from = 0;
      for (const file of files) {
        const content = new Uint8Array(await file.arrayBuffer());
        if (file.name === INDEX) html = content;
        else {
          contents.set(content, from);
          placed.set(file.name, { type: typeOf(file), from, to: from + content.length });
          from += content.length;
        }
        yield;
      }
      const bytesOfOptions = new Uint8Array(await bytesOf(options));
      return { options: bytesOfOptions, html, contents, files: Object.fromEntries(placed) };
    }),
};

async function bytesOf(part: File | string): Promise<ArrayBuffer | Uint8Array> {
  return typeof part === "string" ? new TextEncoder().encode(part) : part.arrayBuffer();
}

function typeOf({ name, type: said }: File): string {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const known = ownMember(types, ending);
  return known ?? (said === "" ? "application/octet-stream" : said);
}

/**
 * Reads the upload of a request; null when its body is JSON. @throws ApiError `invalid_request` where uploads are not
 * accepted
 */
export async function uploadOf(
  request: Request,
  bytes: Uint8Array<ArrayBuffer>,
  {
    isTaken,
    background,
    signal,
  }: {
    readonly isTaken: boolean;
    readonly background: Background;
    readonly signal: AbortSignal;
  },
): Promise<PageUpload | null> {
  const contentType = request.headers.get("content-type") ?? "";
  if (!isMultipart(contentType)) return null;
  if (isTaken) return background.run(readUpload, { bytes, contentType }, signal);
  throw invalidRequest(
    "Files are taken by pdf, screenshot, markdown, content and snapshot; send JSON here (content-type: application/json)",
  );
}

/** Returns a body whose page is that of an upload. @throws ApiError `invalid_request` when it names another */
export function withUploadedPage<B extends RenderBody>(body: B): B {
  const other = ["url", "html"].find((name) => name in body);
  // The bytes of the page are beside it, as those of a long request are.
  if (other === undefined) return { ...body, html: "page" };
  throw invalidRequest(`options.${other}: The page of an upload is its index.html`);
}

/** Returns a job whose page is given the files of an upload, at an address of its own. */
export function uploadedTo(upload: PageUpload | null, job: Job): Job {
  // Without a browser nothing is asked for; links stay as they are.
  if (upload === null || job.body.render === false) return job;
  const files = new Map<string, UploadedFile>();
  for (const [name, { type, from, to }] of Object.entries(upload.files))
    files.set(name, { type, bytes: upload.contents.subarray(from, to) });
  return { ...job, url: new URL(UPLOAD), upload: { files } };
}
