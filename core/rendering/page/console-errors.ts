import type { CdpEvent } from "../cdp/cdp.ts";

/** Errors that are kept: a page may write without end. */
const KEPT = 10;

/** Adds to `errors` what an event says of an error of the page's scripts, if it does. */
export function noteConsoleError(errors: string[], { method, params }: CdpEvent): void {
  if (errors.length >= KEPT) return;
  if (method === "Runtime.exceptionThrown") errors.push(thrownText(params["exceptionDetails"]));
  else if (
    method === "Runtime.consoleAPICalled" &&
    /^(?:error|assert)$/u.test(String(params["type"]))
  )
    errors.push(writtenText(params["args"]));
}

interface RemoteText {
  /** Objects have a description alone. */
  readonly value?: string | number | boolean | null;
  readonly description?: string;
}

function thrownText(details: unknown): string {
  const { exception, text = "" } = (details ?? {}) as {
    readonly exception?: RemoteText;
    readonly text?: string;
  };
  return firstLine(exception?.description ?? text);
}

function writtenText(args: unknown): string {
  const values = Array.isArray(args) ? (args as RemoteText[]) : [];
  return firstLine(
    values.map(({ value, description }) => String(value ?? description ?? "")).join(" "),
  );
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
