import * as v from "valibot";
import { between, whole } from "../../http/fields/bounded-number.ts";

/** Places of a stamp on a page. */
const places = [
  "center",
  "top",
  "bottom",
  "left",
  "right",
  "top-left",
  "top-right",
  "bottom-left",
  "bottom-right",
] as const;

/** Relations of an attachment to the document (PDF 2.0, 14.13), as invoices name them. */
const relations = ["Source", "Data", "Alternative", "Supplement", "Unspecified"] as const;

export type StampPlace = (typeof places)[number];

/** Something that is drawn on pages: a text, or a picture or the page of a PDF. */
export interface Stamp {
  /** @default the file is drawn */
  readonly text?: string | undefined;
  /** The name of a PDF, PNG or JPEG. @default the text is drawn */
  readonly file?: string | undefined;
  /** The page of the PDF that is drawn. @default 1 */
  readonly filePage?: number | undefined;
  /** The pages that are stamped, e.g. "1, 3-". @default all */
  readonly pages?: string | undefined;
  /** Whether it lies below the page's own content, as letterheads do. @default false */
  readonly under?: boolean | undefined;
  /** @default "center" */
  readonly position?: StampPlace | undefined;
  /** Points between it and the edge. @default 36, and 0 for a PDF */
  readonly margin?: number | undefined;
  /** @default 1 */
  readonly opacity?: number | undefined;
  /** Degrees, counter-clockwise. @default 0 */
  readonly rotate?: number | undefined;
  /** Factor for the size of a picture or PDF; a larger one than the page is made to fit first. @default 1 */
  readonly scale?: number | undefined;
  /** Points. @default 48 */
  readonly fontSize?: number | undefined;
  /** The colour of the text, e.g. "#cc0000". @default "#000000" */
  readonly color?: string | undefined;
}

/** A file within the PDF. */
export interface Attachment {
  readonly file: string;
  /** @default "application/octet-stream" */
  readonly type?: string | undefined;
  readonly description?: string | undefined;
  /** @default "Unspecified" */
  readonly relationship?: (typeof relations)[number] | undefined;
}

/** Document information: title, author and the like. */
export interface PdfMetadata {
  readonly title?: string | undefined;
  readonly author?: string | undefined;
  readonly subject?: string | undefined;
  readonly keywords?: readonly string[] | undefined;
  readonly creator?: string | undefined;
  readonly producer?: string | undefined;
  /** ISO 8601. */
  readonly creationDate?: string | undefined;
  /** ISO 8601. @default now */
  readonly modificationDate?: string | undefined;
}

/** How the result becomes several PDFs; one of the two. */
export interface PdfSplit {
  /** Pages of each part. */
  readonly every?: number | undefined;
  /** The pages of each part, e.g. ["1-2", "3-"]. */
  readonly ranges?: readonly string[] | undefined;
}

/** The steps of an edit, in the order of these fields. */
export interface PdfEdit {
  /** Files in base64; those of a form need no entry. @default [] */
  readonly files?: readonly { readonly name: string; readonly content: string }[] | undefined;
  /** Passwords of protected files, by the name of the file. */
  readonly passwords?: Readonly<Record<string, string>> | undefined;
  /** The names of the PDFs, in the order of the result. */
  readonly merge?: readonly string[] | undefined;
  /** The pages of the result, in their order, e.g. "1-3, 7-". @default all */
  readonly pages?: string | undefined;
  readonly stamps?: readonly Stamp[] | undefined;
  readonly metadata?: PdfMetadata | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  readonly split?: PdfSplit | undefined;
}

const text = v.pipe(v.string(), v.maxLength(1000));
const fileName = v.pipe(
  v.string(),
  v.maxLength(200),
  v.regex(/^[^\p{Cc}\\/]+(?:\/[^\p{Cc}\\/]+)*$/u, "expected the name of a file"),
);
const ranges = v.pipe(v.string(), v.maxLength(2000));
const time = v.pipe(
  v.string(),
  v.isoTimestamp('expected a time with its zone, such as "2026-01-31T12:00:00Z"'),
);
const list = <T>(item: v.GenericSchema<unknown, T>, most: number) =>
  v.pipe(v.array(item), v.maxLength(most));

const stamp: v.GenericSchema<unknown, Stamp> = v.pipe(
  v.object({
    text: v.optional(v.pipe(text, v.nonEmpty())),
    file: v.optional(fileName),
    filePage: v.optional(whole(1, 100_000)),
    pages: v.optional(ranges),
    under: v.optional(v.boolean()),
    position: v.optional(v.picklist(places)),
    margin: v.optional(between(0, 2000)),
    opacity: v.optional(between(0, 1)),
    rotate: v.optional(between(-360, 360)),
    scale: v.optional(between(0.01, 10)),
    fontSize: v.optional(between(1, 1000)),
    color: v.optional(v.pipe(v.string(), v.regex(/^#[\da-f]{6}$/iu, 'expected "#rrggbb"'))),
  }),
  v.check(
    (one) => (one.text === undefined) !== (one.file === undefined),
    "expected either text or file",
  ),
);

const attachment: v.GenericSchema<unknown, Attachment> = v.object({
  file: fileName,
  type: v.optional(
    v.pipe(
      text,
      v.regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/u, 'expected a media type, such as "text/xml"'),
    ),
  ),
  description: v.optional(text),
  relationship: v.optional(v.picklist(relations)),
});

const metadata: v.GenericSchema<unknown, PdfMetadata> = v.object({
  title: v.optional(text),
  author: v.optional(text),
  subject: v.optional(text),
  keywords: v.optional(list(text, 100)),
  creator: v.optional(text),
  producer: v.optional(text),
  creationDate: v.optional(time),
  modificationDate: v.optional(time),
});

const split: v.GenericSchema<unknown, PdfSplit> = v.pipe(
  v.object({
    every: v.optional(whole(1, 100_000)),
    ranges: v.optional(v.pipe(list(ranges, 200), v.minLength(1))),
  }),
  v.check(
    (one) => (one.every === undefined) !== (one.ranges === undefined),
    "expected either every or ranges",
  ),
);

const fields = {
  passwords: v.optional(v.record(fileName, text)),
  merge: v.optional(v.pipe(list(fileName, 100), v.minLength(1))),
  pages: v.optional(ranges),
  stamps: v.optional(list(stamp, 20)),
  metadata: v.optional(metadata),
  attachments: v.optional(list(attachment, 50)),
  split: v.optional(split),
};

/** The options of an edit of what is printed, whose files come in a form: parsing others would hold up the event loop. */
export const printEditSchema: v.GenericSchema<unknown, PdfEdit> = v.object(fields);

export const editSchema: v.GenericSchema<unknown, PdfEdit> = v.object({
  files: v.optional(list(v.object({ name: fileName, content: v.string() }), 100)),
  ...fields,
});
