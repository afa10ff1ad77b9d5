import type { ChatContent, ChatReasoning, ThoughtPlace } from "./chat-format.ts";

export type OrderedPiece<C> =
  | { readonly kind: "thought"; readonly thought: ChatReasoning }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: C };

/** Returns the place as a member of a thought; empty for the place in front of everything, where most thoughts stand. */
export function placed({ text, calls }: ThoughtPlace): { after?: ThoughtPlace } {
  return text === 0 && calls === 0 ? {} : { after: { text, calls } };
}

/**
 * Returns the pieces of a message in their order. Thoughts stand where their model had them, because Anthropic refuses
 * signed thoughts in another order.
 */
export function orderedPieces<C>(
  thoughts: readonly ChatReasoning[],
  text: string,
  calls: readonly C[],
): OrderedPiece<C>[] {
  const out: OrderedPiece<C>[] = [];
  let [said, called] = [0, 0];
  const advance = (toText: number, toCalls: number): void => {
    if (toText > said && said < text.length)
      out.push({ kind: "text", text: text.slice(said, toText) });
    said = Math.max(said, toText);
    out.push(...calls.slice(called, toCalls).map((call) => ({ kind: "call" as const, call })));
    called = Math.max(called, toCalls);
  };
  for (const thought of thoughts) {
    const { after = { text: 0, calls: 0 } } = thought;
    advance(after.text, after.calls);
    out.push({ kind: "thought", thought });
  }
  advance(text.length, calls.length);
  return out;
}

export function textLength(content: ChatContent): number {
  if (content == null || typeof content === "string") return content?.length ?? 0;
  let length = 0;
  for (const part of content) {
    if (part.type === "text") length += part.text.length;
    else if (part.type === "refusal") length += part.refusal.length;
  }
  return length;
}
