import { useState } from "preact/hooks";
import type { AskedQuestion, QuestionKind } from "../core/search/rows/question-log.ts";
import { askResult } from "./api.ts";
import { Choice } from "./form.tsx";
import { Action, change, instant, Table, useLoaded } from "./parts.tsx";

interface QuestionsProps {
  /** The path of the instance. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Changes when something of the instance has changed. */
  readonly changed: string;
}

const kinds: Readonly<Record<QuestionKind, string>> = {
  not_found: "Not found",
  low_score: "Badly answered",
  no_clicks: "No result chosen",
  all: "All",
};

/** The questions that an instance was asked, and how well it answered them. */
export function Questions({ path, readOnly, changed }: QuestionsProps) {
  const [kind, setKind] = useState<QuestionKind>("not_found");
  const questions = useLoaded(
    () => askResult<readonly AskedQuestion[]>(`${path}/questions?kind=${kind}&per_page=20`),
    [changed, kind],
  );
  return (
    <section class="stack" aria-labelledby="questions-title">
      <h3 id="questions-title">Questions</h3>
      <Choice
        label="Show"
        value={kind}
        options={kinds}
        onChoose={(chosen) => setKind(chosen as QuestionKind)}
      />
      <Table
        of={questions}
        label="Questions"
        head={["Question", "Asked", "Not found", "Low score", "Clicks", "Best score", "Last"]}
        none="No such question in the last 30 days."
        rows={(questions.value ?? []).map((one) => ({
          key: one.question,
          cells: [
            one.question,
            one.asked,
            one.not_found,
            one.low_score,
            one.clicks,
            one.best_score ?? "–",
            instant(one.last_asked_at),
          ],
        }))}
      />
      <Action
        label="Forget questions"
        disabled={readOnly}
        confirm="All questions of this instance are forgotten."
        onRun={async () => {
          await change("DELETE", `${path}/questions`);
          questions.reload();
        }}
      />
    </section>
  );
}
