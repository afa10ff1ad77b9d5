/** Whom a request comes from, as its token says. Plain, because a connection keeps it. */
export type Caller = {
  /** `operator`: code of this process. `host`: the host app answers for it. `gateway`: a token of the configuration. */
  readonly kind: "operator" | "host" | "gateway" | "token" | "jwt";
  /** Names the token or the subject, never the secret; null where there is nothing to name. */
  readonly id: string | null;
};

/** The operator's own code in this process. */
export const OPERATOR: Caller = { kind: "operator", id: null };

/** A caller for whom the host app answers. */
export const HOST: Caller = { kind: "host", id: null };

/** A caller with a gateway token of the configuration. */
export const GATEWAY: Caller = { kind: "gateway", id: null };
