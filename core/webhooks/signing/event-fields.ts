import type { EventFields, IdSource } from "./scheme.ts";

const ids: readonly IdSource[] = [
  "header:webhook-id",
  "header:x-webhook-id",
  "header:x-event-id",
  "header:idempotency-key",
  "body:event_id",
  "body:id",
];

/** Fields of bodies that follow no provider's rules but the usual ones. */
export const usualFields: EventFields = {
  id: ids,
  type: [
    "header:x-event-type",
    "header:x-webhook-event",
    "body:type",
    "body:event",
    "body:event_type",
  ],
  action: ["body:action"],
  title: ["body:title", "body:subject", "body:name"],
  description: ["body:description", "body:message", "body:text"],
  url: ["body:url", "body:html_url", "body:link"],
  actor: ["body:actor", "body:user.name", "body:user", "body:sender.login", "body:sender"],
};

export const githubFields: EventFields = {
  // Neither header is covered by the signature; there is nothing better.
  id: ["header:x-github-delivery"],
  type: ["header:x-github-event"],
  action: ["body:action", "body:ref_type"],
  title: [
    "body:pull_request.title",
    "body:issue.title",
    "body:release.name",
    "body:discussion.title",
    "body:head_commit.message",
    "body:workflow_run.display_title",
    "body:zen",
  ],
  description: [
    "body:comment.body",
    "body:pull_request.body",
    "body:issue.body",
    "body:release.body",
  ],
  url: [
    "body:comment.html_url",
    "body:pull_request.html_url",
    "body:issue.html_url",
    "body:release.html_url",
    "body:compare",
    "body:workflow_run.html_url",
    "body:repository.html_url",
  ],
  actor: ["body:sender.login"],
};
