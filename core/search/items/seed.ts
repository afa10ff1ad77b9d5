import { ApiError } from "../../http/api-error.ts";
import { uploadItem } from "./index-item.ts";
import { instanceAt } from "../instance/instance-client.ts";
import { createInstance } from "../instance/manage-instances.ts";
import { DEFAULT_NAMESPACE } from "../instance/namespace-store.ts";
import type { SearchOptions } from "../search-deps.ts";
import { utf8 } from "../../crypto/encoding.ts";

/** What {@link seedInstance} creates. */
export interface Seed {
  /** Account that the instance belongs to. */
  readonly account: string;
  /** The instance, in the namespace `default`. */
  readonly id: string;
  readonly documents: readonly {
    readonly key: string;
    readonly text: string;
    readonly contentType?: string;
  }[];
}

/** Creates an instance with documents, unless it exists; whether it was created. */
export async function seedInstance(
  options: SearchOptions,
  { account, id, documents }: Seed,
): Promise<boolean> {
  try {
    await createInstance(account, DEFAULT_NAMESPACE, { id }, options);
  } catch (error) {
    if (error instanceof ApiError && error.kind === "name_exists") return false;
    throw error;
  }
  const instance = instanceAt(options.platform, { account, namespace: DEFAULT_NAMESPACE, id });
  for (const { key, text, contentType } of documents) {
    await uploadItem(
      instance,
      { key, contentType: contentType ?? "text/markdown", bytes: utf8(text) },
      true,
      options,
    );
  }
  return true;
}
