import type { TokenUsage } from "./usage.ts";
import type { Json } from "../../http/json.ts";

/**
 * Adds what one JSON answer, or one event of a stream, says about usage; null when it says nothing that this family would.
 * Providers report cumulative figures, so later ones replace earlier ones. Only the structural places are read, so that an
 * answer whose text looks like usage is not counted.
 */
export type UsageReader = (usage: TokenUsage, message: Json) => TokenUsage | null;
