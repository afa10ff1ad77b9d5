/** Why there are no sessions, and what does their work. */
const none =
  "Browser sessions are not part of causey: their pages would stay open between requests, outside of the limits, timers and checks of renderings";
const instead =
  "Use the rendering routes with actions and waitForFunction, or connect a DevTools client to a browser of your own";
const session = "devtools/browser/:session_id";

/** The hosted platform's routes of browser sessions, below the prefix of rendering, and what each is answered. */
export const devtoolsRoutes: readonly (readonly [path: string, message: string])[] = [
  ["devtools/session", `${none}. No rendering leaves one behind, so there is nothing to list`],
  ["devtools/session/:session_id", `${none}. No rendering leaves one behind`],
  ["devtools/browser", `${none}. ${instead}`],
  [session, `${none}, so there is none to connect to or to close. ${instead}`],
  [
    `${session}/live_view`,
    "Live views are not part of causey: a page is gone when its rendering is answered. Take a screenshot",
  ],
  [
    `${session}/page/:target_id`,
    `Connections to a page are not part of causey: it is gone when its rendering is answered. ${instead}`,
  ],
  [
    `${session}/json/version`,
    "DevTools' description of a browser is not part of causey: /readyz and the start's lines tell which one renders",
  ],
  [
    `${session}/json/protocol`,
    "DevTools' description of its protocol is not part of causey: ask a browser of your own",
  ],
  [
    `${session}/json/*`,
    `Opening, listing and closing a session's pages is not part of causey: each rendering has one page of its own. ${instead}`,
  ],
  ["devtools/*", `${none}. ${instead}`],
];

const archive =
  "PDF/A is not part of causey: Chromium does not write it. Convert what /pdf answers, e.g. with Ghostscript, and check it with veraPDF";

/** Routes on PDFs that clients of other products look for, and what does their work. */
export const pdfRoutes: readonly (readonly [path: string, message: string])[] = [
  ["pdf/convert", archive],
];
