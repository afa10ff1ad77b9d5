import type { AnswerName } from "./answers.ts";
import type { bodySchemas } from "./schemas.ts";

/** The form of an operation's answer. The envelope of a rendering also holds facts on the page. */
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

/** The description of an operation beside its path. */
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
  /** The content of the envelope, or the whole answer without one. @default whatever a provider or an agent answers */
  readonly result?: AnswerName;
  /** The items of the list in the envelope. */
  readonly results?: AnswerName;
  /** The status of success; several where the outcome decides. @default 200 */
  readonly status?: number | readonly number[];
  /** Whether anybody may ask. @default false */
  readonly isPublic?: boolean;
}

/** The operations of a resource by method and rest of the path. */
export type Operations = Readonly<Record<string, Operation>>;

/** Returns the same operations below a path. */
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
