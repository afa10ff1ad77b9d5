/** Every permission that a token can hold; the names are those of the hosted platform where it has one. */
export const permissions = [
  "AI Gateway Read",
  "AI Gateway Edit",
  "AI Gateway Run",
  "AI Search Read",
  "AI Search Edit",
  "AI Search Run",
  "Browser Rendering Edit",
  "Webhooks Read",
  "Webhooks Edit",
  "Agents Read",
  "Agents Edit",
  "Account Read",
  "Deprecations Edit",
  "API Tokens Read",
  "API Tokens Edit",
] as const;

/** The name of a permission. */
export type Permission = (typeof permissions)[number];
