import { headerText } from "../../http/header-text.ts";
import type { HeaderPair } from "../../ports.ts";

/** Comes back as the client sent it: `parseControls` has checked that a header can hold it. */
const ECHOED = "event-id";

/**
 * The headers of one fact about an answer, under both prefixes. Every header of the gateway's own is made here. Names
 * of models and the like come from stored data and from callers; a character that no header can hold must not cost a
 * client its answer.
 */
export function ownHeaders(name: string, value: string): [HeaderPair, HeaderPair] {
  const text = name === ECHOED ? value : headerText(value);
  return [
    [`cf-aig-${name}`, text],
    [`gw-aig-${name}`, text],
  ];
}
