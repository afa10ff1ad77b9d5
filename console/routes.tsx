import { useState } from "preact/hooks";
import { ask } from "./api.ts";
import { Area, Field, Form, jsonOr, useRun } from "./form.tsx";
import { Action, change, Table, useLoaded } from "./parts.tsx";

interface Route {
  readonly id: string;
  readonly name: string;
  readonly elements: readonly { readonly type: string }[];
  readonly modified_at?: string;
  readonly version?: { readonly version_id: string };
}

/** The initial steps of a new route: one model, and nothing where it fails. */
const example = [
  { id: "start", type: "start", outputs: { next: { elementId: "model" } } },
  {
    id: "model",
    type: "model",
    properties: { provider: "openai", model: "gpt-4o-mini", retries: 1, timeout: 30_000 },
    outputs: { success: { elementId: "end" }, fallback: { elementId: "end" } },
  },
  { id: "end", type: "end", outputs: {} },
];

interface RoutesProps {
  /** The path of the gateway in the API. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Changes whenever something of the gateway was changed. */
  readonly changed: string;
}

/** The dynamic routes of a gateway: their elements as JSON, checked by the server before they are deployed. */
export function Routes({ path, readOnly, changed }: RoutesProps) {
  const [open, setOpen] = useState<Route | "new" | null>(null);
  const routes = useLoaded(async () => {
    const answer = await ask(`${path}/routes?per_page=50`);
    return ((await answer.json()) as { data: { routes: readonly Route[] } }).data.routes;
  }, [changed]);
  const done = (): void => {
    setOpen(null);
    routes.reload();
  };
  return (
    <section class="stack" aria-labelledby="routes-title">
      <h3 id="routes-title">Dynamic routes</h3>
      <Table
        of={routes}
        label="Dynamic routes"
        head={["Route", "Elements", "Model in a request", "Change"]}
        none="No route yet. A route chooses a model by conditions, shares and limits."
        rows={(routes.value ?? []).map((route) => ({
          key: route.id,
          cells: [
            route.name,
            route.elements.map(({ type }) => type).join(", "),
            <code>{`dynamic/${route.name}`}</code>,
            <span class="actions">
              <button type="button" onClick={() => setOpen(route)}>
                {`Edit ${route.name}`}
              </button>
              <Action
                label={`Delete ${route.name}`}
                confirm={`Requests that name dynamic/${route.name} will fail.`}
                disabled={readOnly}
                onRun={async () => {
                  await change("DELETE", `${path}/routes/${route.id}`);
                  done();
                }}
              />
            </span>,
          ],
        }))}
      />
      {open === null ? (
        <div class="actions">
          <button type="button" disabled={readOnly} onClick={() => setOpen("new")}>
            New route
          </button>
        </div>
      ) : (
        <Editor
          key={open === "new" ? "new" : open.id}
          path={path}
          route={open === "new" ? null : open}
          readOnly={readOnly}
          onDone={done}
          onCancel={() => setOpen(null)}
        />
      )}
    </section>
  );
}

interface EditorProps {
  readonly path: string;
  /** Null makes one. */
  readonly route: Route | null;
  readonly readOnly: boolean;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function Editor({ path, route, readOnly, onDone, onCancel }: EditorProps) {
  const state = useRun();
  const [name, setName] = useState(route?.name ?? "");
  const [text, setText] = useState(JSON.stringify(route?.elements ?? example, null, 2));
  const save = async (): Promise<void> => {
    const elements = jsonOr("Elements", text, []);
    if (route === null) await change("POST", `${path}/routes`, { name, elements });
    else await deploy(`${path}/routes/${route.id}`, elements);
    onDone();
  };
  return (
    <div class="stack" role="group" aria-label={route === null ? "New route" : route.name}>
      <Form
        action={route === null ? "Create and deploy" : "Deploy"}
        state={state}
        disabled={readOnly}
        onRun={save}
      >
        {route === null && (
          <Field
            label="Name of the route"
            value={name}
            input={{ maxLength: 64 }}
            onInput={setName}
          />
        )}
        <Area label="Elements as JSON" rows={16} isCode value={text} onInput={setText} />
      </Form>
      <div class="actions">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

/** A version serves nothing until it is deployed; requests that run keep theirs. */
async function deploy(path: string, elements: unknown): Promise<void> {
  const { version_id } = await change<{ version_id: string }>("POST", `${path}/versions`, {
    elements,
  });
  await change("POST", `${path}/deployments`, { version_id });
}
