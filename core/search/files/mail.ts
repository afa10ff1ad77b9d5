import PostalMime, { type Address, type Attachment, type Email } from "postal-mime";
import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import {
  binaryKind,
  documentKind,
  type DocumentText,
  type ReadableFile,
} from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { htmlSteps } from "../read/html-text.ts";
import { readText } from "../read/read-text.ts";
import { refused } from "../read/refused.ts";

/** Reads a document that is attached to another one, and guesses the charset of a text. */
export type AttachedReader = (file: ReadableFile) => AsyncGenerator<void, DocumentText, void>;

/**
 * Yields the text of a mail (RFC 5322), or of each mail of a mailbox: its subject, people and date, its text, and below that the texts and
 * documents that are attached. Null for `readAttached`: those are left out, with a warning.
 */
export async function* mailText(
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
  readAttached: AttachedReader | null,
): AsyncGenerator<void, DocumentText, void> {
  const mails = mailsIn(withoutMark(bytes));
  if (mails.length > MAX_MAILS) throw refused(`the file has more than ${MAX_MAILS} mails`);
  const texts: string[] = [];
  const warnings: FileWarning[] = [];
  for (const [n, mail] of mails.entries()) {
    const { text, warnings: own = [] } = yield* oneMail(mail, budget, readAttached);
    texts.push(text);
    const which = mails.length === 1 ? "" : `mail ${n + 1}: `;
    warnings.push(...own.map((one) => ({ ...one, message: `${which}${one.message}` })));
    yield;
  }
  return { text: texts.join("\n\n"), warnings };
}

/** Mails of one file. */
const MAX_MAILS = 5000;

/** A byte order mark would be a part of the first header's name. */
function withoutMark(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isMarked ? bytes.subarray(3) : bytes;
}

/** The line before each mail of a mailbox: the sender and the time, behind an empty line (RFC 4155, appendix A). */
const SEPARATOR = /(?:^|\r?\n\r?\n)From [^\r\n]{0,500}\r?\n/gu;

/** Returns the mails of a mailbox, or the only one. */
function mailsIn(bytes: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
  if (new TextDecoder().decode(bytes.subarray(0, 5)) !== "From ") return [bytes];
  // A letter for each byte, so that places in the text are places in the bytes.
  const found = [...new TextDecoder("windows-1252").decode(bytes).matchAll(SEPARATOR)];
  return found.map(({ index, 0: line }, n) =>
    bytes.subarray(index + line.length, found[n + 1]?.index),
  );
}

async function* oneMail(
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
  readAttached: AttachedReader | null,
): AsyncGenerator<void, DocumentText, void> {
  const warnings: FileWarning[] = [];
  const mail = await PostalMime.parse(yield* asUtf8(bytes, readAttached, warnings));
  yield;
  const parts = [headOf(mail), yield* bodyOf(mail, budget)];
  for (const attachment of mail.attachments) {
    const name = nameOf(attachment);
    if (drawsPage(mail, attachment)) continue;
    try {
      const { text, warnings: own = [] } = yield* attachedText(attachment, readAttached);
      budget.take(text.length);
      if (text.trim() !== "") parts.push(`## Attached: ${name}\n\n${text.trim()}`);
      warnings.push(...own.map((one) => ({ ...one, message: `${name}: ${one.message}` })));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Pictures of the text's own layout, and signatures.
      if (attachment.related === true || attachment.mimeType.endsWith("signature")) continue;
      warnings.push({ code: "attachment_not_read", message: `${name}: ${error.message}` });
    }
  }
  return { text: parts.filter((part) => part !== "").join("\n\n"), warnings };
}

/** Whether a part only draws a saved page: a picture, a style sheet or a script, which has an address and no name. */
function drawsPage({ headers }: Email, { filename, mimeType }: Attachment): boolean {
  const type = headers.find(({ key }) => key === "content-type")?.value ?? "";
  const isPart = /^multipart\/related/iu.test(type) && (filename ?? "") === "";
  return isPart && /css|javascript|^(?:image|font)\//u.test(mimeType);
}

/** A mail of other bytes than UTF-8 that names no charset at all, in UTF-8; every other one as it is. */
async function* asUtf8(
  bytes: Uint8Array<ArrayBuffer>,
  readAttached: AttachedReader | null,
  warnings: FileWarning[],
): AsyncGenerator<void, Uint8Array, void> {
  const isSaid = /charset\s*\*?\s*=/iu.test(new TextDecoder("windows-1252").decode(bytes));
  yield;
  if (isSaid || readAttached === null || isUtf8(bytes)) return bytes;
  const { text, warnings: guessed = [] } = yield* readAttached({
    key: "",
    contentType: "",
    bytes,
  });
  warnings.push(...guessed);
  return utf8(text);
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function headOf({ subject, from, to, cc, date, attachments }: Email): string {
  const attached = attachments.flatMap(({ filename }) => filename ?? []);
  const lines = [
    ["From", names(from === undefined ? [] : [from])],
    ["To", names(to ?? [])],
    ["Cc", names(cc ?? [])],
    ["Date", date ?? ""],
    ["Attached", attached.join(", ")],
  ].filter(([, value]) => value !== "");
  const people = lines.map(([name, value]) => `${name}: ${value}`).join("\n");
  return `# ${subject ?? "Mail"}\n\n${people}`.trimEnd();
}

/** The text of a mail; some programs leave that part blank and fill the one of HTML. */
async function* bodyOf(
  { text = "", html = "" }: Email,
  budget: TextBudget,
): AsyncGenerator<void, string, void> {
  // A line of dashes parts a mail from the one that it answers; below a text Markdown would take it for an underline.
  if (text.trim() !== "") return text.trim().replaceAll(/\n(?=[-=]+[^\S\n]*(?:\n|$))/gu, "\n\n");
  return (yield* htmlSteps(html, budget)).trim();
}

async function* attachedText(
  attachment: Attachment,
  readAttached: AttachedReader | null,
): AsyncGenerator<void, DocumentText, void> {
  const { content, filename, mimeType } = attachment;
  const bytes = typeof content === "string" ? utf8(content) : new Uint8Array(content);
  const file = { key: filename ?? "", contentType: mimeType, bytes };
  if (readAttached === null) throw refused("it is attached to a mail within mails");
  if (documentKind(file) !== null) return yield* readAttached(file);
  const what = binaryKind(file);
  if (what !== null) throw refused(`it is ${what}`);
  const stepsOf = await readText.load();
  const read = yield* stepsOf({ ...file, keepHtml: false });
  if (read !== null) return read;
  const { text, warnings = [] } = yield* readAttached(file);
  const decoded = yield* stepsOf({ ...file, bytes: utf8(text), keepHtml: false });
  if (decoded === null) throw refused("it holds bytes that are not text");
  return { ...decoded, warnings: [...warnings, ...(decoded.warnings ?? [])] };
}

function nameOf({ filename, mimeType }: Attachment): string {
  return (filename ?? mimeType).slice(0, 128);
}

function names(addresses: readonly Address[]): string {
  return addresses
    .map(({ name, address }) =>
      address === undefined || address === "" ? name : `${name} <${address}>`.trim(),
    )
    .join(", ");
}
