// workerd's own types are global, so a package cannot name them for every project: one has those of
// @cloudflare/workers-types or of `wrangler types`, and JSR has neither. Both fit into these.

/** The part of a Durable Object's id that the adapter uses. */
export interface ObjectId {
  toString(): string;
}

/** The part of a Durable Object namespace that the adapter uses. */
export interface ObjectNamespace {
  idFromName(name: string): ObjectId;
  get(id: ObjectId): { fetch(request: Request): Promise<Response> };
}

/** The part of a service or browser binding that the adapter uses. */
export interface FetchBinding {
  fetch(input: Request | string, init?: RequestInit): Promise<Response>;
}

/** The bindings that the adapter uses; further ones are the user's own. */
export interface WorkerEnv {
  /** The namespace of the class `CauseyObject`, with `new_sqlite_classes` in its migration. */
  readonly CAUSEY: ObjectNamespace;
  /** Browser binding; without it page rendering answers 503. */
  readonly BROWSER?: FetchBinding;
  /**
   * A service that reaches public addresses only, checked after DNS resolution (in workerd: a `network`
   * service that allows "public"). Requests that a caller steers then go through it.
   */
  readonly CAUSEY_EGRESS?: FetchBinding;
}
