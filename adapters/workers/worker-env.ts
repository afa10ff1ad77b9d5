/** A Durable Object namespace, as far as the adapter needs it. */
export interface ObjectNamespace {
  idFromName(name: string): DurableObjectId;
  get(id: DurableObjectId): { fetch(request: Request): Promise<Response> };
}

/** The bindings that the adapter uses; further ones are the user's own. */
export interface WorkerEnv {
  /** The namespace of the class `CauseyObject`, with `new_sqlite_classes` in its migration. */
  readonly CAUSEY: ObjectNamespace;
  /** Browser binding; without it page rendering answers 503. */
  readonly BROWSER?: Fetcher;
  /**
   * A service that reaches public addresses only, checked after DNS resolution (in workerd: a `network`
   * service that allows "public"). Requests that a caller steers then go through it.
   */
  readonly CAUSEY_EGRESS?: Fetcher;
}
