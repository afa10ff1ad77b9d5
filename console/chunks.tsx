import type { Chunk } from "../core/search/retrieve/chunk-view.ts";

/** Chunks with their scores, the best first. */
export function Chunks({ chunks }: { readonly chunks: readonly Chunk[] }) {
  return (
    <>
      {chunks.length === 0 && <p class="muted">Nothing found.</p>}
      <ol class="chunks">
        {chunks.map((chunk) => (
          <li key={chunk.id}>
            <div class="chunk-head">
              <strong>
                {chunk.item.key}
                {chunk.page_number !== undefined && `, page ${chunk.page_number}`}
              </strong>
              <span class="mono">{chunk.score.toFixed(3)}</span>
            </div>
            <meter
              min={0}
              max={1}
              value={Math.min(1, Math.max(0, chunk.score))}
              aria-label={`Score ${chunk.score.toFixed(3)}`}
            />
            <p class="small muted">{detailsOf(chunk)}</p>
            <p>{chunk.text}</p>
          </li>
        ))}
      </ol>
    </>
  );
}

function detailsOf({ scoring_details: details }: Chunk): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) =>
        `${name.replaceAll("_", " ")} ${typeof value === "number" ? value.toFixed(3) : value}`,
    )
    .join(", ");
}
