import { uploadItem } from "../../core/search/routes/index-item.ts";
import { instanceAt } from "../../core/search/actor/instance-client.ts";
import { createInstance } from "../../core/search/routes/manage-instances.ts";
import type { SearchOptions } from "../../core/search/mod.ts";

/** An instance of the namespace `default`, with documents. */
export interface Seed {
  readonly account: string;
  readonly id: string;
  readonly documents: readonly { readonly key: string; readonly text: string }[];
}

/** Creates an instance with documents, on a platform whose search is defined. */
export async function seedInstance(
  options: SearchOptions,
  { account, id, documents }: Seed,
): Promise<void> {
  await createInstance(account, "default", { id }, options);
  const instance = instanceAt(options.platform, { account, namespace: "default", id });
  for (const { key, text } of documents) {
    const bytes = new TextEncoder().encode(text);
    await uploadItem(instance, { key, contentType: "text/markdown", bytes }, true, options);
  }
}
