import { TransportError } from "../../net/transport-error.ts";
import type { ChatReasoning, ExtraContent } from "./chat-format.ts";
import type { ChatReply, MessageDelta, ToolCallDelta } from "./reply.ts";

/** A piece of an answer in the formats that put thoughts, words and calls one after another. */
export interface Block {
  readonly kind: "thought" | "text" | "refusal" | "image" | "call";
  readonly index: number;
  /** The text of a thought or of an answer, the arguments of a call, or an image as a `data:` URL. */
  text: string;
  /** The provider's own data of a thought, which it expects back. */
  reasoning?: ChatReasoning;
  /** The call's id and name. */
  readonly id: string;
  readonly name: string;
  readonly extra?: ExtraContent;
}

/** Returns the blocks of a whole answer. */
export function blocksOf(reply: ChatReply): Block[] {
  const { text, refusal = "", reasoning = [], images = [], toolCalls } = reply;
  const plain = { id: "", name: "" };
  const blocks: Omit<Block, "index">[] = [
    ...reasoning.map(
      (one) => ({ ...plain, kind: "thought", text: one.text, reasoning: one }) as const,
    ),
    ...(text === "" ? [] : [{ ...plain, kind: "text", text } as const]),
    ...(refusal === "" ? [] : [{ ...plain, kind: "refusal", text: refusal } as const]),
    ...images.map((url) => ({ ...plain, kind: "image", text: url }) as const),
    ...toolCalls.map(({ id, function: made, extra_content: extra }) => ({
      kind: "call" as const,
      id,
      name: made.name,
      text: made.arguments,
      ...(extra === undefined ? {} : { extra }),
    })),
  ];
  return blocks.map((block, index) => ({ ...block, index }));
}

/** Writes the events of blocks in one format. */
export interface BlockEvents {
  open(block: Block): string;
  piece(block: Block, text: string): string;
  close(block: Block): string;
}

/** Follows a stream as blocks of which one at a time is open. */
export interface BlockStream {
  add(delta: MessageDelta): string;
  /** Closes what is open. */
  end(): string;
  /** All blocks so far. */
  readonly blocks: readonly Block[];
}

/** The block that is open, and those before it. */
interface OpenBlocks {
  readonly blocks: readonly Block[];
  readonly current: () => Block | undefined;
  readonly begin: (block: Omit<Block, "index">) => string;
  readonly say: (text: string) => string;
  readonly end: () => string;
}

function openBlocks(events: BlockEvents): OpenBlocks {
  const blocks: Block[] = [];
  let current: Block | undefined;
  const say = (text: string): string => {
    if (current === undefined || text === "") return "";
    current.text += text;
    return events.piece(current, text);
  };
  const end = (): string => {
    if (current === undefined) return "";
    // Clients also parse the arguments of a call that has none.
    const empty = current.kind === "call" && current.text === "" ? say("{}") : "";
    const closed = events.close(current);
    current = undefined;
    return empty + closed;
  };
  const begin = (block: Omit<Block, "index">): string => {
    const closed = end();
    current = { ...block, index: blocks.length };
    blocks.push(current);
    return closed + events.open(current);
  };
  return { blocks, current: () => current, begin, say, end };
}

/** Turns the deltas of a message into the events of its blocks. */
export function blockStream(events: BlockEvents): BlockStream {
  const { blocks, current, begin, say, end } = openBlocks(events);
  const calls = new Map<number, Block>();
  const plain = { text: "", id: "", name: "" };

  const spoken = (kind: "thought" | "text" | "refusal", text: string | undefined): string => {
    if (text === undefined || text === "") return "";
    const begun = current()?.kind === kind ? "" : begin({ ...plain, kind });
    return begun + say(text);
  };
  const called = ({ index, id, function: made, extra_content: extra }: ToolCallDelta): string => {
    const known = calls.get(index);
    let begun = "";
    // Some providers give every whole call the same index.
    const isOther = id !== undefined && id !== known?.id && (made.name ?? "") !== "";
    if (known === undefined || isOther) {
      const call = { id: id ?? `call_${index}`, name: made.name ?? "" };
      begun = begin({ kind: "call", text: "", ...call, ...(extra === undefined ? {} : { extra }) });
      const opened = current();
      if (opened !== undefined) calls.set(index, opened);
    } else if (known !== current() && (made.arguments ?? "") !== "") {
      throw new TransportError("broken", "The provider mixed the pieces of its tool calls");
    }
    return begun + say(made.arguments ?? "");
  };
  const thought = (reasoning: ChatReasoning | undefined): string => {
    if (reasoning === undefined) return "";
    const open = current();
    if (open?.kind === "thought" && reasoning.hidden === undefined) {
      open.reasoning = reasoning;
      return end();
    }
    return begin({ ...plain, kind: "thought", reasoning }) + end();
  };
  const drawn = (url: string): string => begin({ ...plain, kind: "image" }) + say(url) + end();
  return {
    blocks,
    end,
    add: (delta) =>
      spoken("thought", delta.thought) +
      thought(delta.reasoning) +
      spoken("text", delta.content) +
      spoken("refusal", delta.refusal) +
      (delta.images ?? []).map(drawn).join("") +
      (delta.tool_calls ?? []).map(called).join(""),
  };
}
