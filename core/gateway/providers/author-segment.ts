import { ownMember } from "../../http/json.ts";

/** Authors whose models are called under another path segment; the others' own name is theirs. */
const segments: Readonly<Record<string, string>> = {
  google: "google-ai-studio",
  "x-ai": "grok",
  xai: "grok",
  mistralai: "mistral",
  perplexity: "perplexity-ai",
};

/** Returns the path segment of the provider that serves the models of an author. */
export function segmentOf(author: string): string {
  return ownMember(segments, author) ?? author;
}
