import { askResult } from "./api.ts";
import { type KeyView, Keys, type TeamView, Teams } from "./keys.tsx";
import { amount, limitText } from "./limit-text.ts";
import {
  accountPath,
  changesOf,
  instant,
  type Loaded,
  type PageProps,
  Table,
  useLoaded,
} from "./parts.tsx";
import { Usage } from "./usage.tsx";

/** Spending by team and key, and how much of each budget is used. */
export function SpendPage({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/ai-gateway`;
  const changed = changesOf(live, "gateway");
  const teams = useLoaded(
    () => askResult<readonly TeamView[]>(`${root}/teams?per_page=100`),
    [changed],
  );
  const keys = useLoaded(
    () => askResult<readonly KeyView[]>(`${root}/virtual-keys?per_page=100`),
    [changed],
  );
  const reload = (): void => {
    teams.reload();
    keys.reload();
  };
  const view = { root, facts, teams, keys, onChange: reload };
  return (
    <>
      <Usage account={facts.account} root={root} keys={keys.value ?? []} changed={changed} />
      <Budgets teams={teams} keys={keys} />
      <Teams {...view} />
      <Keys {...view} />
    </>
  );
}

interface BudgetsProps {
  readonly teams: Loaded<readonly TeamView[]>;
  readonly keys: Loaded<readonly KeyView[]>;
}

function Budgets({ teams, keys }: BudgetsProps) {
  const owned = [
    ...(teams.value ?? []).map(({ name, usage }) => ({ owner: `Team ${name}`, usage })),
    ...(keys.value ?? []).map(({ name, usage }) => ({ owner: `Key ${name}`, usage })),
  ];
  const rows = owned.flatMap(({ owner, usage }) =>
    usage.map((limit, at) => ({
      key: `${owner}/${at}`,
      cells: [
        owner,
        limitText(limit),
        <meter
          aria-label={`${owner}: used of ${limitText(limit)}`}
          max={limit.limit || 1}
          value={limit.used}
          high={limit.limit * 0.8}
        />,
        amount(limit, limit.used),
        amount(limit, limit.remaining),
        instant(limit.resets_at),
      ],
    })),
  );
  return (
    <section class="stack" aria-labelledby="budgets-title">
      <h2 id="budgets-title">Budgets</h2>
      <Table
        of={teams.value === null ? teams : keys}
        label="Budgets"
        head={["Of", "Budget", "Use", "Used", "Left", "Begins again"]}
        none="No budget yet. A team or a key below can have one."
        rows={rows}
      />
    </section>
  );
}
