import { isText } from "../../wire/body-bytes.ts";
import type { Scope } from "./json-texts.ts";
import { type Part, partsOf } from "../../wire/multipart.ts";
import { isDue, type WorkMeter, workMeter, type Slices, STEP } from "./slices.ts";
import { type BodyText, readJsonText } from "./text.ts";

const nothing: BodyText = { text: null, duplicate: null, isJson: false };

/**
 * Reads the text of a body for a check; null for sound, images and the like. Valid UTF-8 is text, whatever its declared
 * type, so that nothing passes a check under a false name. A form is read part by part; an unreadable one as plain text, or
 * as JSON.
 */
export function* readBodyText(
  bytes: Uint8Array,
  contentType: string,
  scope: Scope,
): Slices<BodyText> {
  const type = contentType.toLowerCase();
  const counted = workMeter();
  if (type.startsWith("multipart/")) {
    // The boundary's letter case counts.
    const parts = partsOf(bytes, contentType);
    if (parts === null) {
      const text = new TextDecoder().decode(bytes);
      const found = yield* readJsonText(text, type, scope, counted);
      return found.isJson ? found : { ...nothing, text };
    }
    const found: BodyText[] = [];
    for (const part of parts) {
      const one = yield* partText(part, scope, counted);
      if (one.text !== null) found.push(one);
    }
    return joined(found);
  }
  if (!isText(type) && !isUtf8(bytes)) return nothing;
  const text = new TextDecoder().decode(bytes);
  const found = yield* readJsonText(text, type, scope, counted);
  // curl calls any body a form, and many servers read JSON whatever its type.
  if (found.isJson || !type.startsWith("application/x-www-form-urlencoded")) return found;
  return yield* formText(text, scope, counted);
}

function joined(found: readonly BodyText[]): BodyText {
  if (found.length === 0) return nothing;
  return {
    text: found.map(({ text }) => text ?? "").join("\n"),
    duplicate: found.find(({ duplicate }) => duplicate !== null)?.duplicate ?? null,
    isJson: false,
  };
}

/** A part without a type is text (RFC 7578, section 4.4); of files only the conversation's own are spoken. */
function* partText(
  { name, fileName, type, body }: Part,
  scope: Scope,
  counted: WorkMeter,
): Slices<BodyText> {
  const isDeclared = type === "" ? fileName === null : isText(type);
  if (!isDeclared && !isUtf8(body)) return nothing;
  const found = yield* readJsonText(new TextDecoder().decode(body), type, scope, counted);
  const text = found.text ?? "";
  return scope === "all" ? { ...found, text: [name, fileName ?? "", text].join("\n") } : found;
}

function* formText(text: string, scope: Scope, counted: WorkMeter): Slices<BodyText> {
  const found: BodyText[] = [];
  for (const [name, value] of new URLSearchParams(text)) {
    if (scope === "all") found.push({ ...nothing, text: name });
    found.push(yield* readJsonText(value, "", scope, counted));
    if (isDue(counted, STEP)) yield;
  }
  return found.length === 0 ? { ...nothing, text: "" } : joined(found);
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0");
  } catch {
    return false;
  }
}
