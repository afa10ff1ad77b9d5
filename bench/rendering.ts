// PDFs on one headless shell, in one run: causey, which keeps pages for plain documents of one token; causey with a fresh
// browser context for each, as all other documents get it; puppeteer with a new context for
// each, and puppeteer that uses its pages again, which keeps cookies and storage of the one before and is the floor. Each
// drives a browser of its own of the same executable. CPU time is that of this process and all its browsers. Then
// causey's share without a browser, and the memory of its browser over 500 PDFs. `--only small`, `--only memory` narrow it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hono } from "hono";
import type { ReadyChromium } from "../adapters/shared/chromium/chromium-find.ts";
import { findChromium, readyChromium } from "../adapters/shared/chromium/chromium-find.ts";
import { nodePlatform } from "../adapters/node/mod.ts";
import { rendering } from "../core/rendering/mod.ts";
import { storedTokens } from "../core/auth/mod.ts";
import { atExit } from "./harness/at-exit.ts";
import { TOKEN } from "./harness/causey.ts";
import { type Figure, type Goal, once, type Round, roundOf, summarise } from "./harness/figure.ts";
import { compareFunctions } from "./harness/functions.ts";
import { htmlPage } from "./harness/html-page.ts";
import type { Options } from "./harness/options.ts";
import { loadPeer } from "./harness/peers.ts";
import { playedBrowser } from "./harness/played-browser.ts";
import { browserMemory, type Memory, treeCpuMs } from "./harness/process-tree.ts";

const REUSED = "puppeteer, pages used again";
const FRESH = "puppeteer, a context each";
const OURS = "causey";
const OURS_FRESH = "causey, a context each";

const pages: Readonly<Record<string, string>> = {
  small: "<!doctype html><title>Bill</title><h1>Bill 17</h1><p>Two hours of work: 240.00</p>",
  // Not a plain document: it gets a context of its own.
  "small, with a script":
    "<!doctype html><title>Bill</title><h1>Bill 17</h1><p>Two hours of work: <script>document.write(240)</script></p>",
  "75 KB": htmlPage("article", 75_000, 1),
};

/** One after the other, two and four at a time; the same for the peers. */
const LANES = 8;

interface Contestant {
  readonly name: string;
  /** Makes one PDF; `lane` is below the number of PDFs at a time. */
  readonly print: (html: string, lane: number) => Promise<Uint8Array>;
  readonly close: () => Promise<void>;
}

/** Runs `rendering`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only = "", connections = [1, 4, 8] } = options;
  const dataDir = mkdtempSync(join(tmpdir(), "causey-bench-"));
  const forget = atExit(() => rmSync(dataDir, { recursive: true, force: true }));
  const shell = await readyChromium(await findChromium(undefined), dataDir, undefined);
  for (const [name, html] of Object.entries(pages)) {
    for (const count of connections) {
      const title = `rendering: PDF, ${name} page, ${count} at a time`;
      if (title.includes(only))
        yield await compare(title, html, { shell, dataDir, count }, options);
    }
  }
  if ("rendering: overhead".includes(only)) yield await overhead(dataDir, options);
  if ("rendering: memory".includes(only)) yield [await memory(dataDir)];
  rmSync(dataDir, { recursive: true, force: true });
  forget();
}

interface Setting {
  readonly shell: ReadyChromium;
  readonly dataDir: string;
  readonly count: number;
}

async function compare(
  title: string,
  html: string,
  { shell, dataDir, count }: Setting,
  { rounds, ms }: Options,
): Promise<Figure[]> {
  const puppeteer = loadPeer("puppeteer-core") as Puppeteer | undefined;
  const peers =
    puppeteer === undefined
      ? []
      : [
          await puppeteerPrinter(REUSED, puppeteer, shell),
          await puppeteerPrinter(FRESH, puppeteer, shell),
        ];
  const ours = [
    await causeyPrinter(dataDir),
    await causeyPrinter(`${dataDir}/fresh`, 4, OURS_FRESH),
  ];
  const field = [...peers, ...ours].map((one) => ({
    ...one,
    goals: ours.some(({ name: own }) => own === one.name) ? goalsAt(count) : [],
    rounds: [] as Round[],
  }));
  try {
    for (let round = -1; round < rounds; round++) {
      for (const one of field) {
        const figures = await measure(one, html, count, ms);
        if (round >= 0) one.rounds.push(figures);
      }
    }
  } finally {
    for (const one of field) await one.close();
  }
  return summarise(title, field);
}

/** Latency counts while there is time to spare, throughput when there is none. */
function goalsAt(count: number): Goal[] {
  if (count === 1) return [{ what: "p50 ms", of: REUSED, atMost: 1.3 }];
  return [
    { what: "ms/PDF", of: REUSED, atMost: 1 / 0.6 },
    { what: "ms/PDF", of: FRESH, atMost: 1 / 2 },
  ];
}

async function measure(
  { print }: Contestant,
  html: string,
  count: number,
  ms: number,
): Promise<Round> {
  const latencies: number[] = [];
  const cpu = treeCpuMs();
  const began = performance.now();
  const lane = async (n: number): Promise<void> => {
    while (performance.now() - began < ms) {
      const at = performance.now();
      const pdf = await print(html, n);
      if (pdf.length < 1000) throw new Error(`No PDF: ${Buffer.from(pdf).toString()}`);
      latencies.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: count }, (_, n) => lane(n)));
  const wallMs = performance.now() - began;
  const round = roundOf(latencies, { wallMs, cpuMicros: (treeCpuMs() - cpu) * 1000 });
  return { ...round, "ms/PDF": wallMs / latencies.length };
}

interface Puppeteer {
  readonly launch: (options: object) => Promise<PuppeteerBrowser>;
}
interface PuppeteerBrowser {
  readonly newPage: () => Promise<PuppeteerPage>;
  readonly createBrowserContext: () => Promise<{
    readonly newPage: () => Promise<PuppeteerPage>;
    readonly close: () => Promise<void>;
  }>;
  readonly close: () => Promise<void>;
}
interface PuppeteerPage {
  readonly setContent: (html: string, options: object) => Promise<void>;
  readonly pdf: () => Promise<Uint8Array>;
}

const loaded = { waitUntil: "domcontentloaded" };

async function puppeteerPrinter(
  name: string,
  puppeteer: Puppeteer,
  { path, env }: ReadyChromium,
): Promise<Contestant> {
  const browser = await puppeteer.launch({
    executablePath: path,
    env: { ...process.env, ...env },
    pipe: true,
    headless: "shell",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  const close = (): Promise<void> => browser.close();
  if (name === REUSED) {
    const open = await Promise.all(Array.from({ length: LANES }, () => browser.newPage()));
    return { name, close, print: (html, lane) => printWith(open[lane]!, html) };
  }
  const print: Contestant["print"] = async (html) => {
    const context = await browser.createBrowserContext();
    try {
      return await printWith(await context.newPage(), html);
    } finally {
      await context.close();
    }
  };
  return { name, close, print };
}

async function printWith(page: PuppeteerPage, html: string): Promise<Uint8Array> {
  await page.setContent(html, loaded);
  return page.pdf();
}

async function causeyPrinter(
  dataDir: string,
  maxConcurrency = 4,
  name = OURS,
): Promise<Contestant> {
  const platform = await nodePlatform({ dataDir, log: () => undefined });
  const tokens = [{ token: TOKEN, permissions: ["*"], accounts: ["*"] }] as const;
  const auth = storedTokens(platform, { tokens });
  const kept = name === OURS ? {} : { pagesKept: 0 };
  const app = rendering({ platform, auth, maxConcurrency, ...kept });
  return { name, close: () => platform.close(), print: (html) => ask(app, html) };
}

async function ask(app: Hono, html: string): Promise<Uint8Array> {
  const answer = await app.request("/accounts/bench/browser-rendering/pdf", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ html }),
  });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (answer.status !== 200)
    throw new Error(`${answer.status}: ${new TextDecoder().decode(bytes)}`);
  return bytes;
}

/** What checking a request, driving a page and answering costs when the browser answers at once. */
async function overhead(dataDir: string, { rounds, ms }: Options): Promise<Figure[]> {
  const platform = await nodePlatform({ dataDir, log: () => undefined });
  const app = rendering({ platform: { ...platform, browser: playedBrowser() }, auth: "off" });
  const goals = [{ what: "p50 ms", atMost: 1 }];
  const run = (): Promise<Uint8Array> => ask(app, pages["small"]!);
  const title = "rendering: overhead, a browser that answers at once";
  try {
    return await compareFunctions(title, [{ name: OURS, goals, run }], { rounds, ms: ms / 4 });
  } finally {
    await platform.close();
  }
}

const WARM_UP = 100;
const COUNT = 500;

/** The most memory that the processes of the browser take over many PDFs, four at a time. */
async function memory(dataDir: string): Promise<Figure> {
  const { print, close } = await causeyPrinter(dataDir);
  const printMany = async (count: number): Promise<Memory> => {
    let most: Memory = { pssMb: 0, rssMb: 0 };
    let left = count;
    const lane = async (): Promise<void> => {
      while (left-- > 0) {
        await print(pages["75 KB"]!, 0);
        const { pssMb, rssMb } = browserMemory();
        most = { pssMb: Math.max(most.pssMb, pssMb), rssMb: Math.max(most.rssMb, rssMb) };
      }
    };
    await Promise.all(Array.from({ length: 4 }, lane));
    return most;
  };
  try {
    const before = await printMany(WARM_UP);
    const most = await printMany(COUNT);
    const figures = {
      "first 100, most PSS MB": before.pssMb,
      "next 500, most PSS MB": most.pssMb,
      "next 500, most RSS MB": most.rssMb,
      growth: most.pssMb / before.pssMb,
    };
    return once("rendering: memory of the browser, 75 KB page, 4 at a time", OURS, figures, [
      { what: "next 500, most PSS MB", atMost: 600 },
      { what: "growth", atMost: 1.1 },
    ]);
  } finally {
    await close();
  }
}
