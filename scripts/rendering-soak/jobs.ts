/** One kind of request that the soak makes. */
export interface SoakJob {
  readonly name: string;
  /** The last segment of the path, or what of the crawls is asked for. */
  readonly action: string;
  readonly body: (turn: number) => object;
  /** Statuses of an answer, beside those of a server that is full. */
  readonly statuses: readonly number[];
  /** Whether an answer of 200 is right. @default any is */
  readonly isRight?: (text: string, turn: number) => boolean;
  /** Milliseconds after which the client leaves, at most. @default it stays */
  readonly leavesMs?: number;
}

const script = (source: string): string => `<p>text<script>${source}</script>`;
/** How long a page that never ends may take, in ms. */
const brief = { gotoOptions: { timeout: 1500 }, actionTimeout: 1500 };
const worker = "new Worker(URL.createObjectURL(new Blob(['for(;;);'])))";

/** Makes ordinary requests. Their answers are right, or the server is full. */
function usual(site: string): SoakJob[] {
  const url = (turn: number): string => `${site}/article-${turn % 50}`;
  const isPdf = (text: string): boolean => text.startsWith("%PDF-");
  const ok = [200];
  return [
    {
      name: "PDF of HTML",
      action: "pdf",
      body: (turn) => ({ html: `<h1>Page ${turn}</h1>` }),
      statuses: ok,
      isRight: isPdf,
    },
    {
      name: "PDF of a page",
      action: "pdf",
      body: (turn) => ({ url: url(turn), pdfOptions: { format: "a4", printBackground: true } }),
      statuses: ok,
      isRight: isPdf,
    },
    {
      name: "screenshot",
      action: "screenshot",
      body: (turn) => ({ url: url(turn), screenshotOptions: { fullPage: true } }),
      statuses: ok,
      isRight: (text) => text.includes("PNG"),
    },
    {
      name: "Markdown of a page",
      action: "markdown",
      body: (turn) => ({ url: url(turn) }),
      statuses: ok,
      isRight: (text, turn) => text.includes(`article-${turn % 50}`) && text.includes("ran"),
    },
    {
      name: "Markdown without a browser",
      action: "markdown",
      body: (turn) => ({ html: `<h1>Page ${turn}</h1>${"<p>word</p>".repeat(20_000)}` }),
      statuses: ok,
      isRight: (text, turn) => text.includes(`Page ${turn}`),
    },
    {
      name: "links without a browser",
      action: "links",
      body: (turn) => ({ url: url(turn), render: false }),
      statuses: ok,
      isRight: (text) => text.includes("/crawl/"),
    },
    {
      name: "snapshot",
      action: "snapshot",
      body: (turn) => ({ html: `<h1>Page ${turn}</h1>`, formats: ["content", "markdown"] }),
      statuses: ok,
      isRight: (text, turn) => text.includes(`# Page ${turn}`),
    },
    ...[true, false].map((render): SoakJob => ({
      name: render ? "crawl" : "crawl without a browser",
      action: "crawl",
      body: (turn) => ({
        url: `${site}/crawl/${turn}`,
        limit: 5,
        render,
        formats: ["markdown"],
      }),
      statuses: ok,
      isRight: (text) => text.includes('"success":true'),
    })),
  ];
}

/** Makes abusive requests. They end as documented. */
function hostile(site: string): SoakJob[] {
  const page = (name: string, action: string, source: string): SoakJob => ({
    name,
    action,
    body: () => ({ html: script(source), ...brief }),
    statuses: [200, 422],
  });
  const address = (path: string, statuses: readonly number[], more: object = {}): SoakJob => ({
    name: path,
    action: "content",
    body: (turn) => ({ url: `${site}${path}?${turn}`, ...brief, ...more }),
    statuses,
  });
  return [
    { ...page("endless script", "pdf", "for (;;);"), statuses: [422] },
    page(
      "busy timers",
      "screenshot",
      "setInterval(() => { for (const t = Date.now(); Date.now() - t < 400;); })",
    ),
    page("alerts", "content", "for (let i = 0; i < 100; i++) { alert(i); confirm(i); prompt(i); }"),
    page("windows", "content", "for (let i = 0; i < 30; i++) open('about:blank')"),
    page("workers", "pdf", `for (let i = 0; i < 8; i++) ${worker}`),
    page(
      "memory",
      "screenshot",
      "window.a = []; for (let i = 0; i < 20; i++) a.push(new Array(1e6).fill(i))",
    ),
    page(
      "many elements",
      "pdf",
      "for (let i = 0; i < 5e4; i++) document.body.append(document.createElement('p'))",
    ),
    page("a refused address", "content", "location = 'http://10.0.0.1/'"),
    page("a download", "markdown", `location = '${site}/download'`),
    page(
      "frames",
      "pdf",
      `for (let i = 0; i < 20; i++) document.body.append(Object.assign(document.createElement('iframe'), { src: '${site}/article-1' }))`,
    ),
    address("/silent", [422]),
    address("/drip", [200, 422], { bestAttempt: true }),
    address("/loop", [422]),
    address("/reset", [422]),
    address("/error", [422]),
    address("/download", [422]),
    address("/reload", [200, 422]),
    address("/huge", [200, 422]),
    {
      ...address("/huge", [200, 422]),
      name: "/huge without a browser",
      action: "markdown",
      body: () => ({ url: `${site}/huge`, render: false }),
    },
  ];
}

/** Requests whose client leaves, queued or running. */
function left(site: string): SoakJob[] {
  return ["pdf", "markdown", "screenshot"].map((action) => ({
    name: `${action}, the client leaves`,
    action,
    body: (turn) => ({ url: `${site}/article-${turn % 50}`, waitForTimeout: 1000 }),
    statuses: [200],
    leavesMs: 3000,
  }));
}

/** Lists all jobs, hostile ones between the others. */
export function soakJobs(site: string): SoakJob[] {
  const [good, bad] = [usual(site), [...hostile(site), ...left(site)]];
  return bad.flatMap((job, n) => [good[n % good.length] ?? job, job]);
}
