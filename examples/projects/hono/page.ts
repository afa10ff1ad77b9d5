import { html } from "hono/html";
import type { Answer } from "./help-desk.ts";

type Page = ReturnType<typeof html>;

/** The page with the form, and with an answer where there is one. Hono's `html` escapes what it inserts. */
export function page(asked?: Answer & { readonly question: string }): Page {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Help desk</title>
      </head>
      <body>
        <h1>Help desk</h1>
        <form method="post">
          <label
            >Your question <input name="question" required value="${asked?.question ?? ""}"
          /></label>
          <button>Ask</button>
        </form>
        ${asked === undefined ? "" : reply(asked)}
      </body>
    </html>`;
}

function reply({ answer, sources }: Answer): Page {
  return html`<p>${answer}</p>
    <p>From: ${sources.join(", ")}</p>`;
}
