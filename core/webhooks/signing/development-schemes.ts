import { githubFields } from "./event-fields.ts";
import { defineScheme, DIGEST, type Scheme } from "./scheme.ts";
import { standard } from "./standard-scheme.ts";

/** The name of a scheme of a code host, a tracker or an incident tool. */
export type DevelopmentScheme =
  | "github"
  | "linear"
  | "bitbucket"
  | "gitlab"
  | "gitlab-signed"
  | "pagerduty";

/** Schemes of code hosts, trackers and incident tools. */
export const developmentSchemes: Readonly<Record<DevelopmentScheme, Scheme>> = {
  github: defineScheme({
    signature: ["header:x-hub-signature-256"],
    format: { kind: "single", prefix: "sha256=" },
    fields: githubFields,
    keptHeaders: ["x-github-hook-id", "x-github-hook-installation-target-id"],
    // Events of organisations, of a GitHub App and of an enterprise have no repository.
    entity: [
      "repository.full_name",
      "organization.login",
      "installation.account.login",
      "marketplace_purchase.account.login",
      "sponsorship.sponsorable.login",
      "enterprise.slug",
    ],
  }),
  linear: defineScheme({
    signature: ["header:linear-signature"],
    timestamp: { source: "body:webhookTimestamp", unit: "ms", toleranceSeconds: 60 },
    fields: {
      id: ["header:linear-delivery"],
      type: ["body:type"],
      action: ["body:action"],
      title: ["body:data.title", "body:data.name"],
      description: ["body:data.description", "body:data.body"],
      url: ["body:url"],
      actor: ["body:actor.name"],
    },
    entity: "organizationId",
  }),
  bitbucket: defineScheme({
    signature: ["header:x-hub-signature"],
    format: { kind: "single", prefix: "sha256=" },
    fields: {
      // Data Center and Cloud name it differently.
      id: ["header:x-request-id", "header:x-request-uuid"],
      type: ["header:x-event-key"],
      title: ["body:pullrequest.title", "body:issue.title"],
      url: ["body:pullrequest.links.html.href", "body:repository.links.html.href"],
      actor: ["body:actor.nickname", "body:actor.display_name"],
    },
    entity: "repository.full_name",
  }),
  gitlab: defineScheme({
    algorithm: "token",
    signature: ["header:x-gitlab-token"],
    fields: {
      // Webhooks that another webhook caused have its event UUID.
      id: ["header:idempotency-key", ["header:x-gitlab-event-uuid", DIGEST]],
      type: ["header:x-gitlab-event"],
      action: ["body:object_attributes.action"],
      title: ["body:object_attributes.title"],
      url: ["body:object_attributes.url", "body:project.web_url"],
      actor: ["body:user.username", "body:user_username"],
    },
    entity: "project.path_with_namespace",
  }),
  "gitlab-signed": defineScheme({
    ...standard,
    fields: {
      id: ["header:webhook-id"],
      type: ["header:x-gitlab-event"],
      actor: ["body:user.username"],
    },
    entity: "project.path_with_namespace",
  }),
  pagerduty: defineScheme({
    signature: ["header:x-pagerduty-signature"],
    format: { kind: "pairs", separator: ",", key: "v1" },
    fields: {
      id: ["body:event.id"],
      type: ["body:event.event_type"],
      title: ["body:event.data.title"],
      url: ["body:event.data.html_url"],
      actor: ["body:event.agent.summary"],
    },
  }),
};
