import { useEffect, useState } from "preact/hooks";
import type { Answers } from "../scripts/openapi/answers.ts";
import { ask, askResult } from "./api.ts";
import { type FieldSpec, listOf, numberOr, RecordForm } from "./form.tsx";
import {
  accountPath,
  Action,
  change,
  changesOf,
  FactList,
  instant,
  type Loaded,
  type PageProps,
  Table,
  useLoaded,
  Waiting,
} from "./parts.tsx";

type CrawlList = Answers["CrawlList"];
type Crawl = CrawlList["jobs"][number];
type CrawlState = Answers["CrawlState"];

const fields = {
  url: {
    label: "Address to begin at",
    input: { type: "url", placeholder: "https://example.com/" },
  },
  limit: { label: "Pages at most", kind: "number", input: { min: 1, max: 100_000, step: 1 } },
  render: {
    label: "Read pages",
    options: {
      false: "as the site sends them",
      auto: "in a browser if scripts fill them",
      true: "in a browser",
    },
  },
  depth: { label: "Steps from the start", kind: "number", isMore: true, hint: "Empty: any number" },
  source: {
    label: "Pages are found by",
    options: { all: "links and sitemaps", links: "links", sitemaps: "sitemaps" },
    isMore: true,
  },
  include: {
    label: "Only pages like",
    isMore: true,
    hint: "With commas, such as /docs/**. Empty: all",
  },
  exclude: { label: "Without pages like", isMore: true },
} satisfies Record<string, FieldSpec>;

/** Crawls: begun here, with their progress, their pages and a picture of each. */
export function RenderingPage({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/browser-rendering`;
  const crawls = useLoaded(
    () => askResult<CrawlList>(`${root}/crawl?limit=20`),
    [changesOf(live, "rendering")],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const jobs = crawls.value?.jobs ?? [];
  const open = jobs.find(({ id }) => id === chosen) ?? jobs[0];
  useWhile(
    jobs.some(({ status }) => status === "running"),
    crawls.reload,
  );
  return (
    <div class="stack">
      <section class="card" aria-labelledby="new-crawl">
        <h2 id="new-crawl">New crawl</h2>
        <RecordForm
          action="Begin"
          fields={fields}
          initial={{ limit: "10" }}
          disabled={facts.readOnly}
          onSave={async (values) => {
            setChosen(await change<string>("POST", `${root}/crawl`, bodyOf(values)));
            crawls.reload();
          }}
        />
      </section>
      <Crawls
        root={root}
        crawls={crawls}
        open={open}
        readOnly={facts.readOnly}
        onChoose={setChosen}
      />
      {open !== undefined && (
        <Details key={open.id} root={root} job={open} readOnly={facts.readOnly} />
      )}
    </div>
  );
}

interface CrawlsProps {
  readonly root: string;
  readonly crawls: Loaded<CrawlList>;
  readonly open: Crawl | undefined;
  readonly readOnly: boolean;
  readonly onChoose: (id: string) => void;
}

function Crawls({ root, crawls, open, readOnly, onChoose }: CrawlsProps) {
  return (
    <section class="stack" aria-labelledby="crawls-title">
      <h2 id="crawls-title">Crawls</h2>
      <Table
        of={crawls}
        label="Crawls"
        head={["Start", "State", "Pages", "Skipped", "Began", "Change"]}
        none="No crawl yet. A crawl reads a site page by page, as Markdown, and obeys its robots.txt."
        rows={(crawls.value?.jobs ?? []).map((job) => ({
          key: job.id,
          cells: [
            <button
              type="button"
              class="link"
              aria-pressed={job.id === open?.id}
              onClick={() => onChoose(job.id)}
            >
              {job.url}
            </button>,
            job.status.replaceAll("_", " "),
            <Pages job={job} />,
            job.skipped,
            instant(job.created_at),
            job.status === "running" ? (
              <Action
                label="Cancel"
                disabled={readOnly}
                onRun={async () => {
                  await ask(`${root}/crawl/${job.id}`, { method: "DELETE" });
                  crawls.reload();
                }}
              />
            ) : (
              "–"
            ),
          ],
        }))}
      />
    </section>
  );
}

function bodyOf(values: Readonly<Record<keyof typeof fields, string>>): object {
  const depth = numberOr(values.depth, undefined);
  const [includePatterns, excludePatterns] = [listOf(values.include), listOf(values.exclude)];
  return {
    url: values.url,
    limit: Number(values.limit),
    ...(depth === undefined ? {} : { depth }),
    formats: ["markdown"],
    render: values.render === "auto" ? "auto" : values.render === "true",
    source: values.source,
    options: {
      ...(includePatterns.length === 0 ? {} : { includePatterns }),
      ...(excludePatterns.length === 0 ? {} : { excludePatterns }),
    },
  };
}

/** Calls a function every 1.5 s while something runs. */
function useWhile(isRunning: boolean, reload: () => void): void {
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(reload, 1500);
    return () => clearInterval(timer);
  }, [isRunning]);
}

function Pages({ job: { total, finished, status } }: { readonly job: Crawl }) {
  return (
    <>
      {finished} of {total}
      {status === "running" && (
        <progress max={total || 1} value={finished} aria-label="Pages read" />
      )}
    </>
  );
}

interface DetailsProps {
  readonly root: string;
  readonly job: Crawl;
  readonly readOnly: boolean;
}

function Details({ root, job, readOnly }: DetailsProps) {
  const { id, finished, status } = job;
  const crawl = useLoaded(
    () => askResult<CrawlState>(`${root}/crawl/${id}?limit=100`),
    [id, finished, status],
  );
  const [shown, setShown] = useState<string | null>(null);
  const records = crawl.value?.records ?? [];
  const last = records.findLast((record) => record.status === "completed")?.url;
  const seen = shown ?? last;
  return (
    <section class="card stack" aria-labelledby="crawl-title">
      <h2 id="crawl-title">{job.url}</h2>
      <Waiting of={crawl} />
      <FactList
        facts={[
          ["State", status.replaceAll("_", " ")],
          ["Pages", `${finished} of ${job.total}`],
          [
            "Browser",
            crawl.value === null ? null : `${crawl.value.browserSecondsUsed.toFixed(1)} s`,
          ],
          ["Ended", job.ended_at === null ? null : instant(job.ended_at)],
        ]}
      />
      {status === "running" && (
        <progress max={job.total || 1} value={finished} aria-label="Pages read" />
      )}
      {seen !== undefined && status !== "running" && (
        <Picture key={seen} root={root} url={seen} disabled={readOnly} />
      )}
      <PageList crawl={crawl} isRunning={status === "running"} onShow={setShown} />
    </section>
  );
}

interface PageListProps {
  readonly crawl: Loaded<CrawlState>;
  readonly isRunning: boolean;
  readonly onShow: (url: string) => void;
}

function PageList({ crawl, isRunning, onShow }: PageListProps) {
  return (
    <Table
      of={crawl}
      label="Pages"
      head={["Page", "State", "Text", "Look"]}
      none="No page yet."
      rows={(crawl.value?.records ?? []).map((record) => ({
        key: record.url,
        cells: [
          <>
            <span class="wrap">{record.metadata?.title || record.url}</span>
            <span class="reason">{record.url}</span>
          </>,
          <>
            {record.status}
            {record.error !== undefined && <span class="reason">{record.error}</span>}
          </>,
          record.markdown === undefined ? (
            "–"
          ) : (
            <details>
              <summary>Show</summary>
              <pre tabIndex={0} aria-label={`Text of ${record.url}`}>
                {record.markdown}
              </pre>
            </details>
          ),
          record.status === "completed" ? (
            <button
              type="button"
              disabled={isRunning}
              aria-label={`Picture of ${record.url}`}
              onClick={() => onShow(record.url)}
            >
              Picture
            </button>
          ) : (
            "–"
          ),
        ],
      }))}
    />
  );
}

interface PictureProps {
  readonly root: string;
  readonly url: string;
  readonly disabled: boolean;
}

/** Takes a picture of a page: the site is asked once more, so only when somebody says so. */
function Picture({ root, url, disabled }: PictureProps) {
  const [image, setImage] = useState<string | null>(null);
  useEffect(
    () => () => {
      if (image !== null) URL.revokeObjectURL(image);
    },
    [image],
  );
  const take = async (): Promise<void> => {
    const response = await ask(`${root}/screenshot`, { method: "POST", json: { url } });
    setImage(URL.createObjectURL(await response.blob()));
  };
  return (
    <div class="picture stack" role="group" aria-label="Picture">
      <div class="actions">
        <Action label="Take a picture" disabled={disabled} onRun={take} />
        <span class="small muted">of {url}</span>
      </div>
      {image !== null && <img src={image} alt={`The page ${url}`} />}
    </div>
  );
}
