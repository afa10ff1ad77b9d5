import { toBase64 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import type { LongTask, Steps } from "../../ports.ts";
import type { UploadedFile } from "./uploaded-files.ts";

/** An upload as it came. */
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
  readonly html: string;
  /** The other files, by their names. */
  readonly files: { readonly [name: string]: UploadedFile };
};

/** The page's name, and the fields of the form; names are Gotenberg's, but for `options`. */
const INDEX = "index.html";
const FILES = "files";
const OPTIONS = "options";

/** Files of one upload, bytes of one file, and characters of a name. */
const MAX_FILES = 200;
const MAX_FILE = 8 * 1024 * 1024;
const MAX_NAME = 200;

/** What runtimes make of a part's type differs; a page needs the right one for its style sheets and modules. */
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

/** Whether a body is a form with files. */
export function isUpload(contentType: string): boolean {
  return /^multipart\/form-data\s*;/iu.test(contentType);
}

/**
 * Reads an upload beside the event loop, from its bytes to what a page is given.
 *
 * @throws ApiError `invalid_request` naming the part
 */
export const readUpload: LongTask<UploadRequest, PageUpload, Steps<PageUpload>> = {
  name: "rendering/read-upload",
  load: () =>
    Promise.resolve(async function* ({ bytes, contentType }) {
      const form = await new Response(bytes, { headers: { "content-type": contentType } })
        .formData()
        .catch((error: unknown) => {
          throw new ApiError("invalid_request", {
            message: "The body is not a form (multipart/form-data)",
            cause: error,
          });
        });
      yield;
      let options = new Uint8Array([0x7b, 0x7d]);
      let html: string | null = null;
      const files = new Map<string, UploadedFile>();
      for (const [field, part] of form) {
        if (field === OPTIONS) options = new Uint8Array(await bytesOf(part));
        else if (field !== FILES || typeof part === "string") throw unknownPart(field, part);
        else {
          const name = checkName(part.name);
          if (files.has(name) || (name === INDEX && html !== null))
            throw refuse(`${FILES}: "${name}" is there twice`);
          if (name !== INDEX && files.size >= MAX_FILES)
            throw refuse(`${FILES}: At most ${MAX_FILES} are allowed`);
          if (part.size > MAX_FILE)
            throw refuse(`${FILES}: "${name}" has more than ${MAX_FILE} bytes`);
          const content = new Uint8Array(await part.arrayBuffer());
          if (name === INDEX) html = new TextDecoder().decode(content);
          else files.set(name, { type: typeOf(name, part.type), base64: toBase64(content) });
        }
        yield;
      }
      if (html === null) throw refuse(`${FILES}: One of them has to be called ${INDEX}`);
      return { options, html, files: Object.fromEntries(files) };
    }),
};

async function bytesOf(part: File | string): Promise<ArrayBuffer | Uint8Array> {
  return typeof part === "string" ? new TextEncoder().encode(part) : part.arrayBuffer();
}

function unknownPart(field: string, part: File | string): ApiError {
  const name = field.slice(0, 40);
  if (field === FILES) return refuse(`${FILES}: A file is needed, with its name`);
  const what =
    typeof part === "string" ? `put it into "${OPTIONS}", which is JSON` : `use "${FILES}"`;
  return refuse(`"${name}" is not a part of an upload: ${what}`);
}

/** A name is a path below the page, and nothing that could be taken for another place. */
function checkName(name: string): string {
  const isPath = name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  if (isPath && name.length <= MAX_NAME && !/[\\:\p{Cc}]/u.test(name)) return name;
  throw refuse(
    `${FILES}: "${name.slice(0, 60)}" is not a name such as style.css or images/logo.png`,
  );
}

function typeOf(name: string, said: string): string {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return types[ending] ?? (said === "" ? "application/octet-stream" : said);
}

function refuse(message: string): ApiError {
  return new ApiError("invalid_request", { message });
}
