import { invalidRequest } from "../../http/api-error.ts";
import type { RenderBody } from "../input/body.ts";

/** Fields that mean something without a browser; what only a browser can do is refused. */
const fields = new Set([
  "url",
  "html",
  "render",
  "userAgent",
  "setExtraHTTPHeaders",
  "authenticate",
  "gotoOptions",
  "goToOptions",
  "actionTimeout",
  "bestAttempt",
  "failOnHttpStatus",
  "setJavaScriptEnabled",
  "excludeExternalLinks",
  "extract",
  "includeTags",
  "excludeTags",
  "edit",
  "elements",
  "prompt",
  "response_format",
  "custom_ai",
]);
const gotoFields = new Set(["timeout", "referer"]);

/** Returns the name of a field that needs a browser; undefined when a body has none. */
export function fieldForBrowser(body: RenderBody): string | undefined {
  const load = body.gotoOptions ?? body.goToOptions ?? {};
  const set = (value: object): string[] =>
    Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : [name]));
  return (
    set(body).find((name) => !fields.has(name)) ??
    set(load)
      .filter((name) => !gotoFields.has(name))
      .map((name) => `gotoOptions.${name}`)[0] ??
    (body.setJavaScriptEnabled === true ? "setJavaScriptEnabled" : undefined)
  );
}

/** @throws ApiError `invalid_request` naming a field that needs a browser */
export function checkStatic(body: RenderBody): void {
  const wrong = fieldForBrowser(body);
  if (wrong === undefined) return;
  throw invalidRequest(`${wrong}: Needs a browser, which "render": false does without`);
}
