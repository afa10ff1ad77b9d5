/** The sender of a request, as its token says. Plain, because a connection keeps it. */
export type GatewayCaller = {
  /**
   * `operator`: code of this process. `host`: the host app answers for it. `gateway`: a token of the configuration.
   * `key`: a virtual key.
   */
  readonly kind: "operator" | "host" | "gateway" | "token" | "jwt" | "key";
  /** Names the key, the token or the subject, never the secret; null where there is nothing to name. */
  readonly id: string | null;
  /** SHA-256 of the secret that was shown, for kinds `key` and `gateway`: tells apart tokens that have no name. */
  readonly tokenHash?: string;
  /** The rights of a caller who came with a virtual key. */
  readonly grant?: KeyGrant;
};

/** The rights of a virtual key; its limit of requests was checked before. */
export type KeyGrant = {
  /** In lower case; null = every model. */
  readonly models: readonly string[] | null;
  /** Aliases of stored provider keys, `*` = any. Without one in the request the first counts that is stored. */
  readonly aliases: readonly string[];
  /** Requests beside inferences that the operator's credentials serve. */
  readonly paths: readonly GrantedPath[];
  /** The team of the key, and what the key is tagged with, for reports. */
  readonly team: string | null;
  readonly tags: readonly string[];
  /** The limits of the key and of its team that count cost or tokens. */
  readonly limits: readonly GrantedLimit[];
};

/** A limit as far as it decides whether a request is counted. */
export type GrantedLimit = {
  readonly limitType: "cost" | "tokens";
  /** In lower case; undefined = every model. */
  readonly models: readonly string[] | undefined;
  /** Whether what cannot be counted is refused. */
  readonly onUnknown: "refuse" | "allow";
  /** The owner in words, and where its settings are. */
  readonly owner: string;
  readonly place: string;
};

/** Requests of a method, or of any (`*`). */
export type GrantedPath = {
  readonly method: string;
  /** `{provider}/{path}` without the version in front of the path; `*` stands for any text. */
  readonly path: string;
};

/** The operator's own code in this process. */
export const OPERATOR: GatewayCaller = { kind: "operator", id: null };

/** A caller for whom the host app answers. */
export const HOST: GatewayCaller = { kind: "host", id: null };

/** How rows name a caller; null for one without a name. */
export function callerName(caller: GatewayCaller | null): string | null {
  return caller === null || caller.id === null ? null : `${caller.kind}:${caller.id}`;
}

/** A request, as far as it decides who shares its answer. */
interface Asking {
  readonly caller: GatewayCaller | null;
  readonly settings: { readonly share_answers?: boolean | undefined };
}

/**
 * Names the callers who share answers with this one: in the cache, exact or semantic, in identical requests at the same
 * time, and in streams that are resumed. Null = everybody who sends the same request to the same gateway.
 *
 * Two callers that the operator's provider key pays for may be strangers to each other: each has its answers alone,
 * unless the gateway's `share_answers` says otherwise. A caller who brings the provider's key shares with those who
 * have the same key: the provider would answer them alike. A caller without a name cannot be told from the next one.
 */
export function sharingScope({ caller, settings }: Asking, bringsKey: boolean): string | null {
  if (caller === null || bringsKey || settings.share_answers === true) return null;
  return callerScope(caller);
}

/** Names a caller alone; null for one without a name. */
export function callerScope(caller: GatewayCaller): string | null {
  return callerName(caller) ?? caller.tokenHash ?? null;
}
