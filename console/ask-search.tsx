import { useState } from "preact/hooks";
import type { Chunk } from "../core/search/retrieve/chunk-view.ts";
import { ask, eventsOf } from "./api.ts";
import { Chunks } from "./chunks.tsx";
import { Field, Form, useRun } from "./form.tsx";
import { count } from "./format.ts";

interface AskSearchProps {
  /** The path of the instance in the API. */
  readonly path: string;
  /** Items that are not indexed yet. */
  readonly waiting: number;
}

/** The chunks that were found, and the answer that was made from them. */
interface Found {
  readonly query: string;
  readonly chunks: readonly Chunk[];
  /** Null for a search. */
  readonly answer: string | null;
  /** Parts that the search had to leave out. */
  readonly notes: readonly string[];
}

/** A search, or a question that is answered from what the search finds, with its sources. */
export function AskSearch({ path, waiting }: AskSearchProps) {
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  const state = useRun();
  const search = async (signal: AbortSignal): Promise<void> => {
    const response = await ask(`${path}/search`, { method: "POST", json: { query }, signal });
    const { result, messages } = (await response.json()) as {
      result: { chunks: readonly Chunk[] };
      messages: readonly { message: string }[];
    };
    const notes = messages.map(({ message }) => message);
    setFound({ query, chunks: result.chunks, answer: null, notes });
  };
  const answer = async (signal: AbortSignal): Promise<void> => {
    setFound({ query, chunks: [], answer: "", notes: [] });
    const json = { messages: [{ role: "user", content: query }], stream: true };
    const response = await ask(`${path}/chat/completions`, { method: "POST", json, signal });
    for await (const { event, data } of eventsOf(response)) {
      if (data === "[DONE]") break;
      const message: unknown = JSON.parse(data);
      if (event === "error") throw new Error(errorText(message));
      setFound((before) => before && withEvent(before, event, message));
    }
  };
  return (
    <section class="stack" aria-labelledby="ask-title">
      <h3 id="ask-title">Search and ask</h3>
      <Form action="Try" state={state} onRun={search} other={{ label: "Ask", onRun: answer }}>
        <Field label="Try a query" value={query} input={{ type: "search" }} onInput={setQuery} />
      </Form>
      {found !== null && <Result found={found} isRunning={state.isRunning} waiting={waiting} />}
    </section>
  );
}

function withEvent(before: Found, event: string, message: unknown): Found {
  if (event === "chunks") return { ...before, chunks: message as readonly Chunk[] };
  const { choices } = message as { choices?: readonly { delta?: { content?: string } }[] };
  const text = choices?.[0]?.delta?.content ?? "";
  return { ...before, answer: (before.answer ?? "") + text };
}

function errorText(message: unknown): string {
  const { error } = message as { error?: { message?: string } };
  return error?.message ?? JSON.stringify(message);
}

interface ResultProps {
  readonly found: Found;
  readonly isRunning: boolean;
  readonly waiting: number;
}

function Result({ found: { query, chunks, answer, notes }, isRunning, waiting }: ResultProps) {
  return (
    <div class="stack" role="group" aria-label="Result">
      {answer !== null && (
        <div class="answer card" aria-live="polite" aria-busy={isRunning}>
          {answer}
        </div>
      )}
      {notes.map((note) => (
        <p key={note} class="notice">
          {note}
        </p>
      ))}
      {chunks.length > 0 && answer !== null && <h4>Sources</h4>}
      {chunks.length > 0 && <Chunks chunks={chunks} />}
      {chunks.length === 0 && !isRunning && (
        <p class="muted">
          Nothing was found for “{query}”.{" "}
          {waiting > 0
            ? `${count(waiting)} items are not indexed yet: try again when they are.`
            : "Use words from the documents, or check below that the right item was indexed."}
        </p>
      )}
    </div>
  );
}
