import { utf8 } from "../../crypto/encoding.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { withBytes } from "../../http/fields/body.ts";
import { longResponse } from "../../http/long-response.ts";
import { isMultipart } from "../../http/fields/read-form.ts";
import type { Platform } from "../../ports.ts";
import { workFor } from "../../work/owned-work.ts";
import type { PdfBody } from "../input/body.ts";
import { tooLate } from "../page/render.ts";
import { within } from "../input/timers.ts";
import type { UploadedFiles } from "../job/uploaded-files.ts";
import type { EditedPdf, EditRequest, PdfEditor } from "../pdf-edit/pdf-editor.ts";
import type { AroundRendering } from "./json-answer.ts";

/** Dependencies of editing. */
export interface EditDeps {
  readonly platform: Platform;
  /** Edits PDFs; undefined where the operator brings nothing that does. */
  readonly editor: PdfEditor | undefined;
  /** Bytes of a body. */
  readonly limit: number;
  /** The whole request, in ms. */
  readonly requestMs: number;
}

/** A request to `/pdf/edit`, and everything that follows it. */
interface EditCall {
  readonly request: Request;
  /** The owner of the work: threads are shared fairly between owners. */
  readonly owner: string;
  /** Receives the fields of the body that have no effect. */
  readonly onUnknown: (messages: readonly string[]) => void;
}

/** Bytes that an edit of a printed PDF begins with: those of a message to the process that edits. */
const MAX_INPUT = 100_000_000;

const none = { rendered: null, contents: new Uint8Array(), placed: {} };

/** Answers a request to edit PDFs that came with it. @throws ApiError `invalid_request` naming the field */
export async function answerEdit(
  { platform, editor, limit, requestMs }: EditDeps,
  { request, owner, onUnknown }: EditCall,
): Promise<Response> {
  const { background, system } = workAt(platform, owner);
  const contentType = request.headers.get("content-type") ?? "";
  const edited = await withBytes(request, limit, platform, (sent) => {
    // Not before: a client that is answered while it still sends may lose the answer.
    const edit = editorOf(editor);
    if (sent.length === 0 && isMultipart(contentType))
      throw invalidRequest("files: At least one PDF is needed");
    const input = { ...none, sent, contentType, now: system.now() };
    return within(
      { ms: requestMs, system, signal: request.signal, expired: tooLate },
      async (signal) => background.run(edit, input, signal),
    );
  });
  onUnknown(edited.unknown);
  return longResponse(new Uint8Array(edited.bytes), headersOf(edited));
}

/** Makes the two steps of `/pdf`: one before a page is loaded, and one that changes what was printed. */
export function editOfPdf({ platform, editor, requestMs }: EditDeps): AroundRendering<PdfBody> {
  const { system } = platform;
  return {
    before: ({ edit }) => {
      if (edit !== undefined) editorOf(editor);
      return Promise.resolve();
    },
    async after(printed, { edit }, { background, upload }, signal) {
      if (edit === undefined) return printed;
      const input: EditRequest = {
        sent: utf8(JSON.stringify(edit)),
        contentType: "application/json",
        rendered: new Uint8Array(await printed.arrayBuffer()),
        ...filesOf(upload),
        now: system.now(),
      };
      if ((input.rendered?.length ?? 0) + input.contents.length > MAX_INPUT)
        throw new ApiError("page_too_large", {
          message: `edit: The PDF and its files have more than ${MAX_INPUT} bytes`,
        });
      const edited = await within(
        { ms: requestMs, system, signal, expired: tooLate },
        async (inner) => background.run(editorOf(editor), input, inner),
      );
      const headers = { ...Object.fromEntries(printed.headers), ...headersOf(edited) };
      return longResponse(new Uint8Array(edited.bytes), headers);
    },
  };
}

function workAt({ background, system }: Platform, owner: string) {
  return { background: workFor(owner, background).background, system };
}

function editorOf(editor: PdfEditor | undefined): PdfEditor {
  if (editor !== undefined) return editor;
  throw new ApiError("missing_capability", {
    message: "This server does not edit PDFs: give rendering() the option editPdf",
  });
}

function headersOf({ bytes, type }: EditedPdf): Readonly<Record<string, string>> {
  return { "content-type": type, "content-length": String(bytes.byteLength) };
}

/** The files of an upload one behind the other: they are copied, because the page may still have them. */
function filesOf(upload: UploadedFiles | undefined): Pick<EditRequest, "contents" | "placed"> {
  const files = [...(upload?.files ?? [])];
  const contents = new Uint8Array(files.reduce((sum, [, { bytes }]) => sum + bytes.length, 0));
  const placed = new Map<string, readonly number[]>();
  let at = 0;
  for (const [name, { bytes }] of files) {
    contents.set(bytes, at);
    placed.set(name, [at, at + bytes.length]);
    at += bytes.length;
  }
  return { contents, placed: Object.fromEntries(placed) };
}
