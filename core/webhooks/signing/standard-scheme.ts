import { usualFields } from "./event-fields.ts";
import { defineScheme, type Scheme } from "./scheme.ts";

/** The scheme of Standard Webhooks, which others follow under names of their own. */
export const standard: Scheme = defineScheme({
  encoding: "base64",
  signature: ["header:webhook-signature"],
  format: { kind: "versions" },
  content: "{id}.{timestamp}.{body}",
  timestamp: { source: "header:webhook-timestamp", unit: "s", toleranceSeconds: 300 },
  signedId: "header:webhook-id",
  secretForm: "whsec",
  fields: { ...usualFields, id: ["header:webhook-id"] },
});
