import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { askResult, serverUrl } from "./api.ts";
import { firstLines } from "./first-lines.ts";
import { accountPath, Copy, useLoaded } from "./parts.tsx";
import { readGateways } from "./stored-log.ts";
import { TabList } from "./tab-list.tsx";

/** Whether each step was taken; one that cannot be looked up counts as open. */
type Taken = Readonly<Record<keyof typeof steps, boolean>>;

const steps = {
  ask: { title: "Ask a model", page: "playground", place: "Playground" },
  provider: { title: "Connect a provider", page: "gateways", place: "Gateways" },
  key: { title: "Make a key for somebody", page: "spend", place: "Spend" },
  file: { title: "Upload a file, and ask about it", page: "search", place: "Search" },
  webhook: { title: "Receive a webhook", page: "webhooks", place: "Webhooks" },
} as const;

/** The first steps of a new server, each with lines to copy; it goes away when all are done. */
export function FirstSteps({ facts }: { readonly facts: SessionFacts }) {
  const taken = useLoaded(() => readTaken(facts.account), [facts.account]);
  const sources = useLoaded(
    () => askResult<readonly { name: string }[]>(`${accountPath(facts.account)}/webhooks/sources`),
    [facts.account],
  );
  const source = sources.value?.find(({ name }) => name === "demo")?.name ?? null;
  const open = Object.entries(taken.value ?? {}).filter(([, isTaken]) => !isTaken);
  if (taken.value === null || open.length === 0) return null;
  return (
    <section class="card stack first" aria-labelledby="first-title">
      <h2 id="first-title">What to do next</h2>
      <ol>
        {Object.entries(steps).map(([name, step]) => (
          <li key={name}>
            <details>
              <summary>
                {step.title}
                {taken.value?.[name as keyof Taken] === true && (
                  <span class="state ready">done</span>
                )}
              </summary>
              <Step name={name as keyof Taken} account={facts.account} source={source} />
              <p class="small">
                Or by mouse: <a href={`#/${step.page}`}>{step.place}</a>
              </p>
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface StepProps {
  readonly name: keyof Taken;
  readonly account: string;
  readonly source: string | null;
}

function Step({ name, account, source }: StepProps) {
  const lines = firstLines(serverUrl, account, source)[name];
  const ways = Object.keys(lines);
  const [chosen, setWay] = useState("");
  const way = chosen in lines ? chosen : (ways[0] ?? "");
  const text = lines[way] ?? "";
  return (
    <div class="stack">
      {ways.length > 1 && (
        <TabList
          label="Write it for"
          id={`first-${name}`}
          names={ways}
          chosen={way}
          onChoose={setWay}
        />
      )}
      <pre id={`first-${name}`} tabIndex={0} aria-label={`${steps[name].title}: ${way}`}>
        {text}
      </pre>
      <div class="actions">
        <Copy label="Copy" text={text} />
      </div>
    </div>
  );
}

async function readTaken(account: string): Promise<Taken> {
  const root = accountPath(account);
  const has = (path: string): Promise<boolean> =>
    askResult<readonly unknown[]>(`${root}${path}`).then(
      (found) => found.length > 0,
      () => false,
    );
  // The first request makes the gateway that the lines name.
  const gateways = await readGateways(account).catch((): readonly string[] => []);
  const hasInGateway = async (path: string): Promise<boolean> =>
    gateways.includes("default") && has(`/ai-gateway/gateways/default${path}?per_page=1`);
  const [asked, provider, key, file, webhook] = await Promise.all([
    hasInGateway("/logs"),
    hasInGateway("/provider_configs"),
    has("/ai-gateway/virtual-keys?per_page=1"),
    // The demo's own instance does not count as the reader's.
    askResult<readonly { id: string }[]>(`${root}/ai-search/instances?per_page=5`).then(
      (found) => found.some(({ id }) => id !== "demo"),
      () => false,
    ),
    has("/webhooks/entities?limit=1"),
  ]);
  return { ask: asked, provider, key, file, webhook };
}
