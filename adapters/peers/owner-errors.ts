import { ApiError } from "../../core/http/api-error.ts";

/** The call was not started: it goes to the next owner. */
export class NotStarted extends Error {}

/** The failures of calls to another process. */
export interface OwnerErrors {
  /** The beginning of a sentence about the owner, for the log. */
  readonly owner: string;
  /** For a call whose owner ended before it answered. */
  ended(): ApiError;
  /** For a call under way when the owner became unresponsive. */
  didNotAnswer(): ApiError;
  /** For a new call while the owner is unresponsive. */
  unresponsive(): ApiError;
  /** For a call beyond the limit of waiting calls. */
  overloaded(): ApiError;
  /** For a call that has waited too long for an owner. */
  none(): ApiError;
  /** For a call that this process has not started yet as it ends. */
  shuttingDown(): ApiError;
  /** For a call that is under way when this process ends. */
  cutOff(): ApiError;
}

/** Makes the failures; `ended` and `none` are the beginnings of their sentences. */
function ownerErrors(owner: string, ended: string, none: string): OwnerErrors {
  return {
    owner,
    ended: () => unavailable(`${ended} has ended: whether this took effect is not known`),
    didNotAnswer: () =>
      unavailable(`${owner} does not answer: whether this took effect is not known`),
    unresponsive: () => unavailable(`${owner} does not answer: try again later`),
    overloaded: () =>
      unavailable(`Too many calls wait for ${owner.replace(/^T/u, "t")}: try again later`),
    none: () => unavailable(`${none}: try again later`),
    shuttingDown: () => unavailable("The server is shutting down"),
    cutOff: () => unavailable("The server is shutting down: whether this took effect is not known"),
  };
}

/** Those of the processes of a data directory. */
export const folderErrors: OwnerErrors = ownerErrors(
  "The process that holds the data directory",
  "The process that held the data directory",
  "No process holds the data directory",
);

/** Those of the nodes of a cluster. */
export const nodeErrors: OwnerErrors = ownerErrors(
  "The node that has this object",
  "The node that had this object",
  "No node has this object",
);

function unavailable(message: string): ApiError {
  return new ApiError("unavailable", { message, headers: { "retry-after": "1" } });
}
