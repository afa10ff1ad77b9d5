import { expecting } from "../http/fields/misfit.ts";
import * as v from "valibot";
import { type ApiError, conflict } from "../http/api-error.ts";
import type { ActorRef, Actors } from "../ports.ts";

/**
 * Kind of actor that holds the outbound webhooks of one account or application; its name is the account id, or that of the
 * application behind it. Its method `send` takes a {@link SendBody} and {@link ApplicationLimits}.
 */
export const OUTBOUND_KIND = "webhooks-outbound";

/** The limits that an application's own actor keeps. */
export type ApplicationLimits = {
  readonly max_endpoints: number;
  /** Messages per second that it takes; null = any number. */
  readonly messages_per_second: number | null;
};

/** An actor that sends, and the limits of the application that it is of. */
export interface SenderActor {
  readonly actor: ActorRef;
  readonly limits?: ApplicationLimits;
}

/** The actor that sends for an account, or for one of its applications. Throws 404 for an unknown application. */
export async function outboundSender(
  actors: Pick<Actors, "get">,
  account: string,
  application: string | undefined,
): Promise<SenderActor> {
  const own = actors.get(OUTBOUND_KIND, account);
  if (application === undefined) return { actor: own };
  // `as`: the method of that kind.
  const known = (await own.call("getApplication", application)) as ApplicationLimits;
  const { max_endpoints, messages_per_second } = known;
  const limits = { max_endpoints, messages_per_second };
  return { actor: applicationActor(actors, account, application), limits };
}

/** The actor of an application. No account's id has a slash. */
export function applicationActor(
  actors: Pick<Actors, "get">,
  account: string,
  application: string,
): ActorRef {
  return actors.get(OUTBOUND_KIND, `${account}/${application}`);
}

/** The form of an application's id. */
export const APPLICATION_ID: RegExp = /^[\w-]{1,64}$/;

export const applicationId: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.regex(APPLICATION_ID, expecting("1 to 64 of A-Z, a-z, 0-9, _ and -")),
);

/** Longest payload that is sent, in characters of JSON. */
export const OUTBOUND_LIMIT: number = 256 * 1024;

/** A checked body of `POST …/send`. */
export type SendBody = {
  readonly type: string;
  readonly payload?: unknown;
  readonly entity?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
};

/** Body of `POST …/send`. */
export const sendInput: v.GenericSchema<unknown, SendBody> = v.object({
  type: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  /** Becomes the body of the request as it is. */
  payload: v.unknown(),
  /** The entity that the event is about, for `ordered` endpoints. */
  entity: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1024))),
  endpoint_id: v.optional(v.string()),
  idempotency_key: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
});

/** The error of a message whose idempotency key another message has. */
export function keyConflict(): ApiError {
  return conflict(
    "The idempotency key was used for a message of another type, payload or entity: use a key for each message",
  );
}
