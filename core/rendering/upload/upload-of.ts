import { ApiError } from "../../http/api-error.ts";
import type { Platform } from "../../ports.ts";
import type { RenderBody } from "../body.ts";
import type { Job } from "../job.ts";
import { isUpload, readUpload, type PageUpload } from "./read-upload.ts";
import { UPLOAD } from "./uploaded-files.ts";

/** The upload that a request is; null when its body is JSON. @throws ApiError `invalid_request` where none is taken */
export async function uploadOf(
  request: Request,
  bytes: Uint8Array<ArrayBuffer>,
  isTaken: boolean,
  { background }: Pick<Platform, "background">,
): Promise<PageUpload | null> {
  const contentType = request.headers.get("content-type") ?? "";
  if (!isUpload(contentType)) return null;
  if (isTaken) return background.run(readUpload, { bytes, contentType }, request.signal);
  throw new ApiError("invalid_request", {
    message:
      "Files are taken by pdf, screenshot, markdown, content and snapshot; send JSON here (content-type: application/json)",
  });
}

/** A body with the page of an upload. @throws ApiError `invalid_request` when it names another */
export function withUploadedPage<B extends RenderBody>(body: B, { html }: PageUpload): B {
  const other = ["url", "html"].find((name) => name in body);
  if (other === undefined) return { ...body, html };
  throw new ApiError("invalid_request", {
    message: `options.${other}: The page of an upload is its index.html`,
  });
}

/** A job whose page is given the files of an upload, at an address of its own. */
export function uploadedTo(upload: PageUpload | null, job: Job): Job {
  // Without a browser nothing is asked for; links stay as they are.
  if (upload === null || job.body.render === false) return job;
  const files = new Map(Object.entries(upload.files));
  return { ...job, url: new URL(UPLOAD), upload: { files } };
}
