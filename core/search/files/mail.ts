import PostalMime, { type Address } from "postal-mime";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import { htmlSteps } from "../read/html-text.ts";

/**
 * Yields the text of a mail (RFC 5322): its subject, sender, receivers and date, its text, and the names of its
 * attachments.
 */
export async function* mailText(
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
): AsyncGenerator<void, DocumentText, void> {
  const mail = await PostalMime.parse(bytes);
  yield;
  const body = mail.text ?? (mail.html === undefined ? "" : yield* htmlSteps(mail.html, budget));
  const attached = mail.attachments.flatMap(({ filename }) => filename ?? []);
  const lines = [
    ["From", names(mail.from === undefined ? [] : [mail.from])],
    ["To", names(mail.to ?? [])],
    ["Date", mail.date ?? ""],
    ["Attached", attached.join(", ")],
  ].filter(([, value]) => value !== "");
  const text = [
    `# ${mail.subject ?? "Mail"}`,
    lines.map(([name, value]) => `${name}: ${value}`).join("\n"),
    body.trim(),
  ].join("\n\n");
  return { text };
}

function names(addresses: readonly Address[]): string {
  return addresses
    .map(({ name, address }) => (address === undefined ? name : `${name} <${address}>`.trim()))
    .join(", ");
}
