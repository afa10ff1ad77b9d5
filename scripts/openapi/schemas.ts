import type { GenericSchema } from "valibot";
import { ticketInput } from "../../core/agents/access/ticket.ts";
import { entrySettingsSchema } from "../../core/deprecations/settings/settings-schema.ts";
import { tokenInputSchema } from "../../core/auth/token-schema.ts";
import { sendInput } from "../../core/entity/outbound.ts";
import { teamChange, teamCreate } from "../../core/gateway/account/keys/team.ts";
import { keyChange, keyCreate, keyRotation } from "../../core/gateway/account/keys/virtual-key.ts";
import { datasets } from "../../core/gateway/manage/dataset.ts";
import * as route from "../../core/gateway/manage/dynamic-route.ts";
import { evaluations } from "../../core/gateway/manage/evaluation.ts";
import { logPatch } from "../../core/gateway/manage/manage-logs.ts";
import { customProviders } from "../../core/gateway/manage/custom-provider.ts";
import { providerConfigs } from "../../core/gateway/manage/provider-config.ts";
import { priceRow } from "../../core/gateway/prices/price-rows.ts";
import { gatewayCreate, gatewayWrite } from "../../core/gateway/account/settings/settings.ts";
import { crawlSchema } from "../../core/rendering/crawl/rows/crawl-schema.ts";
import { mapSchema } from "../../core/rendering/crawl/map-site.ts";
import * as render from "../../core/rendering/job/schema.ts";
import { editSchema } from "../../core/rendering/pdf-edit/edit-schema.ts";
import { createSchema, updateSchema } from "../../core/search/state/instance-schema.ts";
import { tokenInput } from "../../core/search/routes/token-routes.ts";
import { namespaceCreate, namespaceUpdate } from "../../core/search/routes/namespace-routes.ts";
import { putSchema, syncSchema } from "../../core/search/routes/item-routes.ts";
import { jobCancel, jobCreate } from "../../core/search/routes/job-routes.ts";
import { questionClick } from "../../core/search/routes/question-routes.ts";
import { chatSchema, searchSchema } from "../../core/search/state/search-schema.ts";
import { visitorChatSchema, visitorSearchSchema } from "../../core/search/state/visitor-schema.ts";
import { applicationInput, applicationPatch } from "../../core/webhooks/outbound/applications.ts";
import { deliveryReplayInput } from "../../core/webhooks/outbound/outbound-routes.ts";
import {
  endpointInput,
  endpointPatch,
  rotateInput,
} from "../../core/webhooks/outbound/outbound-schema.ts";
import { portalInput } from "../../core/webhooks/portal/portal-routes.ts";
import { entityReplayInput } from "../../core/webhooks/management.ts";
import {
  sourceInput,
  sourceRotation,
  sourceReplacement,
} from "../../core/webhooks/inbound/source-schema.ts";

/** The schemas that check request bodies, by their names in the document. */
export const bodySchemas = {
  Token: tokenInputSchema,
  DeprecationSettings: entrySettingsSchema,
  GatewayCreate: gatewayCreate,
  GatewayUpdate: gatewayWrite,
  LogPatch: logPatch,
  Dataset: datasets.create,
  Evaluation: evaluations.create,
  DynamicRoute: route.routeCreate,
  DynamicRouteName: route.routeRename,
  DynamicRouteVersion: route.versionCreate,
  DynamicRouteDeployment: route.deploymentCreate,
  ProviderConfig: providerConfigs.create,
  ProviderConfigChange: providerConfigs.change,
  CustomProvider: customProviders.create,
  CustomProviderChange: customProviders.change,
  Price: priceRow,
  TeamCreate: teamCreate,
  TeamChange: teamChange,
  VirtualKey: keyCreate,
  VirtualKeyChange: keyChange,
  VirtualKeyRotation: keyRotation,
  Render: render.documentSchema,
  RenderPdf: render.pdfSchema,
  PdfEdit: editSchema,
  RenderScreenshot: render.screenshotSchema,
  RenderJson: render.jsonSchema,
  RenderLinks: render.linksSchema,
  RenderScrape: render.scrapeSchema,
  RenderAccessibilityTree: render.accessibilitySchema,
  RenderSnapshot: render.snapshotSchema,
  RenderCrawl: crawlSchema,
  RenderMap: mapSchema,
  Instance: createSchema,
  InstanceChange: updateSchema,
  SearchToken: tokenInput,
  Namespace: namespaceCreate,
  NamespaceChange: namespaceUpdate,
  ItemSync: syncSchema,
  ItemPut: putSchema,
  Job: jobCreate,
  QuestionClick: questionClick,
  VisitorSearch: visitorSearchSchema,
  VisitorChat: visitorChatSchema,
  JobCancel: jobCancel,
  Search: searchSchema,
  SearchChat: chatSchema,
  WebhookSourceCreate: sourceInput,
  WebhookSourceSettings: sourceReplacement,
  WebhookSourceRotation: sourceRotation,
  Application: applicationInput,
  PortalLink: portalInput,
  ApplicationChange: applicationPatch,
  Endpoint: endpointInput,
  EndpointChange: endpointPatch,
  EndpointRotation: rotateInput,
  WebhookMessage: sendInput,
  DeliveryReplay: deliveryReplayInput,
  EntityReplay: entityReplayInput,
  Ticket: ticketInput,
} as const satisfies Record<string, GenericSchema>;
