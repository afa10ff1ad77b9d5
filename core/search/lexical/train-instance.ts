import type { SqlRow, Statement } from "../../ports.ts";
import { embeddedText } from "../items/commit-item.ts";
import { type InstanceFacts, type InstanceState, vectorTag } from "../instance/instance-state.ts";
import { LEXICAL_MODEL, type LexicalModel, lexicalModel, TRAIN_FROM } from "./lexical-model.ts";
import { train, trainedStatements } from "./trained-model.ts";
import { vectorStatements } from "../retrieve/vector-store.ts";

/**
 * Learns the builtin vectors from the instance's own chunks and makes all its vectors anew, in one
 * transaction. Does nothing for an instance without builtin vectors.
 */
export async function trainInstance(state: InstanceState): Promise<void> {
  const facts = state.facts();
  if (!facts.settings.index_method.vector || facts.settings.embedding_model !== LEXICAL_MODEL)
    return;
  const { system } = state.context;
  const pause = (): Promise<void> => system.sleep(0);
  const rows = await state.context.sql.all(
    "SELECT item_id, heading, text FROM search_chunks WHERE actor = ? ORDER BY item_id, ord",
    [state.actor],
  );
  const texts = rows.map((row) =>
    embeddedText({ heading: String(row["heading"]), text: String(row["text"]) }),
  );
  // In an order that does not depend on ids or on time: the same texts give the same model everywhere.
  const learned = texts.length < TRAIN_FROM ? null : await train(texts.toSorted(), pause);
  const next: InstanceFacts = {
    ...facts,
    trainedVersion: facts.trainedVersion + 1,
    trainedChunks: texts.length,
  };
  const model = lexicalModel(learned?.trained ?? null);
  const statements = [
    ...(learned === null
      ? [{ sql: "DELETE FROM search_models WHERE actor = ?", params: [state.actor] }]
      : trainedStatements(state.actor, next.trainedVersion, learned)),
    ...(await embedAll(state.actor, rows, texts, model, vectorTag(next), pause)),
    state.save(next),
  ];
  await state.context.sql.batch(statements);
  state.remember(next);
  state.vectors.reset();
}

async function embedAll(
  actor: string,
  rows: readonly SqlRow[],
  texts: readonly string[],
  model: LexicalModel,
  tag: string,
  pause: () => Promise<void>,
): Promise<Statement[]> {
  const out: Statement[] = [];
  for (let start = 0; start < rows.length;) {
    const itemId = String(rows[start]?.["item_id"]);
    let end = start;
    while (end < rows.length && String(rows[end]?.["item_id"]) === itemId) end++;
    const vectors = new Float32Array((end - start) * model.dimensions);
    for (let n = start; n < end; n++) {
      vectors.set(model.embed(texts[n] ?? ""), (n - start) * model.dimensions);
      if (n % 64 === 63) await pause();
    }
    out.push(...vectorStatements(actor, itemId, tag, model.dimensions, vectors));
    start = end;
  }
  return out;
}
