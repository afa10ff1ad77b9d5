import type { AnswerName } from "./answers/mod.ts";
import type { bodySchemas } from "./schemas.ts";

/** What an operation answers with: an envelope of JSON, unless it says otherwise. A rendering's tells of the page, too. */
export type AnswerForm =
  | "envelope"
  | "rendering"
  | "json"
  | "text"
  | "binary"
  | "pdf"
  | "image"
  | "events"
  | "completion";

/** What the document says of an operation beside its path. */
export interface Operation {
  readonly summary: string;
  readonly body?: keyof typeof bodySchemas;
  /** A body that no schema of ours checks. */
  readonly freeBody?: "json" | "form";
  /** Whether the page may come as a form, with its files. @default false */
  readonly isUpload?: boolean;
  /** @default false */
  readonly bodyOptional?: boolean;
  readonly query?: readonly string[];
  /** A body that passes. */
  readonly example?: unknown;
  readonly answer?: AnswerForm;
  /** What the envelope holds; where there is none, the whole answer. @default whatever a provider or an agent answers */
  readonly result?: AnswerName;
  /** What the list in the envelope holds. */
  readonly results?: AnswerName;
  /** Of success; several where what happened decides. @default 200 */
  readonly status?: number | readonly number[];
  /** Whether anybody may ask. @default false */
  readonly isPublic?: boolean;
}

/** The operations of a resource by method and rest of the path. */
export type Operations = Readonly<Record<string, Operation>>;

/** The same operations below a path. */
export function below(root: string, operations: Operations): Operations {
  return Object.fromEntries(
    Object.entries(operations).map(([key, operation]) => {
      const [method = "", rest = ""] = key.split(" ");
      return [`${method} ${root}${rest}`, operation];
    }),
  );
}

/** Parameters of lists that come in pages. */
export const paged = ["page", "per_page"] as const;
