import { isText } from "./body-bytes.ts";
import { type Part, partsOf } from "./multipart.ts";
import { type Scope, textOf } from "./text.ts";

/**
 * The text of a body as a check sees it; null when it has none: sound, images and the like. What is UTF-8 is text,
 * whatever its declared type, so that nothing passes a check under a false name. A form is read part by part; one
 * that cannot be read is looked at as it stands.
 */
export function bodyText(bytes: Uint8Array, contentType: string, scope: Scope): string | null {
  const type = contentType.toLowerCase();
  if (type.startsWith("multipart/")) {
    // The boundary's letter case counts.
    const parts = partsOf(bytes, contentType);
    if (parts === null) return new TextDecoder().decode(bytes);
    const texts = parts.flatMap((part) => partText(part, scope) ?? []);
    return texts.length === 0 ? null : texts.join("\n");
  }
  if (!isText(type) && !isUtf8(bytes)) return null;
  const text = new TextDecoder().decode(bytes);
  if (type.startsWith("application/x-www-form-urlencoded")) return formText(text, scope);
  return textOf(text, type, scope);
}

/** A part without a type is text (RFC 7578, section 4.4); of files only the conversation's own are spoken. */
function partText({ name, fileName, type, body }: Part, scope: Scope): string | null {
  const isDeclared = type === "" ? fileName === null : isText(type);
  if (!isDeclared && !isUtf8(body)) return null;
  const text = textOf(new TextDecoder().decode(body), type, scope);
  return scope === "all" ? [name, fileName ?? "", text].join("\n") : text;
}

function formText(text: string, scope: Scope): string {
  const lines: string[] = [];
  for (const [name, value] of new URLSearchParams(text)) {
    if (scope === "all") lines.push(name);
    lines.push(textOf(value, "", scope));
  }
  return lines.join("\n");
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0");
  } catch {
    return false;
  }
}
