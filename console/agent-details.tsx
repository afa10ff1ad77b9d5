import { useState } from "preact/hooks";
import type { Answers } from "../scripts/openapi/answers.ts";
import { callAgent } from "./agent-call.ts";
import { type FieldSpec, jsonOr, RecordForm } from "./form.tsx";
import { Table } from "./parts.tsx";

/** An agent as the API shows it. */
export type AgentState = Answers["AgentState"];

interface AgentDetailsProps {
  readonly agent: AgentState;
  /** The path of the instance. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly onCalled: () => void;
}

/** The state of an agent, what it has to do, and its operations to call. */
export function AgentDetails({ agent, path, readOnly, onCalled }: AgentDetailsProps) {
  const { state, schedules, queue, callables } = agent;
  return (
    <>
      <section>
        <h3>State</h3>
        <pre tabIndex={0} aria-label="State of the agent">
          {JSON.stringify(state, null, 2)}
        </pre>
      </section>
      <h3>Schedules</h3>
      <Table
        label="Schedules"
        head={["Task", "Kind", "Next run", "Payload"]}
        none="No task is scheduled."
        rows={schedules.map(({ id, task, kind, due, payload }) => ({
          key: id,
          cells: [task, kind, time(due), JSON.stringify(payload)],
        }))}
      />
      <h3>Queue</h3>
      <Table
        label="Queue"
        head={["Task", "Runs so far", "Next run", "Error", "Payload"]}
        none="No task waits."
        rows={queue.map(({ id, task, attempt, due, error, payload }) => ({
          key: id,
          cells: [task, attempt, time(due), error ?? "–", JSON.stringify(payload)],
        }))}
      />
      <Call callables={callables} path={path} readOnly={readOnly} onCalled={onCalled} />
    </>
  );
}

function time(ms: number): string {
  return new Date(ms).toLocaleString("en-GB");
}

interface CallProps extends Omit<AgentDetailsProps, "agent"> {
  readonly callables: readonly string[];
}

function Call({ callables, path, readOnly, onCalled }: CallProps) {
  const [answer, setAnswer] = useState<string | null>(null);
  const fields = {
    method: {
      label: "Operation",
      options: Object.fromEntries(callables.map((name) => [name, name])),
    },
    args: {
      label: "Arguments as a JSON list",
      hint: 'Such as ["Ada", 5]. Empty: without any',
      input: { required: false },
    },
  } satisfies Record<string, FieldSpec>;
  return (
    <section class="stack" aria-labelledby="call-title">
      <h3 id="call-title">Call an operation</h3>
      <RecordForm
        action="Call"
        isKept
        fields={fields}
        disabled={readOnly}
        onSave={async ({ method, args }, signal) => {
          const list = jsonOr(fields.args.label, args, []);
          if (!Array.isArray(list)) throw new Error("Arguments: write a list, such as [5]");
          setAnswer("");
          const part = (value: unknown): void =>
            setAnswer((before) => `${before ?? ""}${JSON.stringify(value, null, 2) ?? "null"}\n`);
          await callAgent({ path, method, args: list, signal }, part);
          onCalled();
        }}
      />
      {answer !== null && (
        <pre tabIndex={0} aria-label="Result of the call">
          {answer}
        </pre>
      )}
    </section>
  );
}
