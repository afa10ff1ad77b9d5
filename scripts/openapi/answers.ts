import type { Issued } from "../../core/agents/access/ticket.ts";
import type { QueuedTask, Schedule } from "../../core/agents/define/tasks.ts";
import type { AccountView } from "../../core/auth/accounts.ts";
import type { PermissionGroup } from "../../core/auth/permission-groups.ts";
import type { Policy } from "../../core/auth/policies.ts";
import type { ListedEntry } from "../../core/deprecations/page.ts";
import type { ShownSettings } from "../../core/deprecations/settings/settings-routes.ts";
import type { EventRecord } from "../../core/entity/event.ts";
import type { SourceCounts } from "../../core/entity/event-counts.ts";
import type { ReplayFilter } from "../../core/entity/replay-filter.ts";
import type { Failure } from "../../core/entity/webhook-index.ts";
import type { TeamSettings } from "../../core/gateway/account/keys/team.ts";
import type { KeySettings, LimitUsage } from "../../core/gateway/account/keys/virtual-key.ts";
import type { GatewaySettings } from "../../core/gateway/account/settings/settings.ts";
import type { ModelList } from "../../core/gateway/entry/usable-models.ts";
import type { ShownLog } from "../../core/gateway/observe/log/log-view.ts";
import type { SpendFigures, SpendQuery } from "../../core/gateway/observe/spend/spend-row.ts";
import type { PriceView } from "../../core/gateway/prices/price-book.ts";
import type { PriceRowSetting } from "../../core/gateway/prices/price-rows.ts";
import type { ListedCrawl } from "../../core/rendering/crawl/rows/crawl-list.ts";
import type {
  CrawlRead,
  CrawlRecord,
  RecordStatus,
} from "../../core/rendering/crawl/rows/crawl-records.ts";
import type { PageMeta } from "../../core/rendering/page/render.ts";
import type { Scraped, Snapshot } from "../../core/rendering/render-binding.ts";
import type { SearchResult } from "../../core/search/answer/ask.ts";
import type { ChatCompletion } from "../../core/search/answer/chat.ts";
import type { InstanceFailure } from "../../core/search/answer/find-across.ts";
import type { Namespace } from "../../core/search/directory/namespace-store.ts";
import type { SearchToken } from "../../core/search/directory/token-store.ts";
import type { ItemChunk, ItemLog } from "../../core/search/ingest/item-details.ts";
import type { AskedQuestion } from "../../core/search/rows/question-log.ts";
import type { Item } from "../../core/search/rows/item-record.ts";
import type { JobLog, SyncJob } from "../../core/search/rows/job-store.ts";
import type { ShownInstance } from "../../core/search/state/instance-settings.ts";
import type { PartHealth } from "../../core/signals/health.ts";
import type { ShownUse } from "../../core/signals/uses-routes.ts";
import type { Application } from "../../core/webhooks/outbound/applications.ts";
import type { counterNames } from "../../core/webhooks/outbound/counters.ts";
import type { SendResult } from "../../core/webhooks/outbound/deliveries.ts";
import type { PortalLinkView, PortalView } from "../../core/webhooks/portal/portal-routes.ts";
import type { TopicFigures } from "../../core/webhooks/outbound/topics.ts";
import type { SourceView } from "../../core/webhooks/sources/source-routes.ts";
import type { EndpointView, EndpointWithSecret } from "../../core/webhooks/outbound/endpoints.ts";
import type { bodySchemas } from "./schemas.ts";

/** A member that is answered as a body has it; `type-schema.ts` knows it by its name. */
interface SameAs<Body extends keyof typeof bodySchemas, Name extends string> {
  readonly body: Body;
  readonly member: Name;
}

type Times = { created_at: string; modified_at: string };
type Text = string | null;
type Free = Readonly<Record<string, unknown>>;
/** The same members, of which one type is another in JSON. */
type Instead<T, Changed> = Omit<T, keyof Changed> & Changed;

/**
 * The answers by their names in the document: the types of what handlers return, from which the compiler makes the
 * schemas. Tests compare them with real answers.
 */
export interface Answers
  extends
    PlatformAnswers,
    GatewayAnswers,
    GatewayRecordAnswers,
    RenderingAnswers,
    SearchAnswers,
    WebhookAnswers {
  IdOnly: { id: string };
  NameOnly: { name: string };
  KeyOnly: { key: string };
  Nothing: null;
}

/** The name of one of {@link Answers}. */
export type AnswerName = Exclude<keyof Answers, "PageMeta">;

type Validity = { not_before?: string; expires_on?: string };

interface ApiToken extends Validity {
  id: string;
  name: string;
  status: "active" | "disabled" | "expired";
  issued_on: string;
  modified_on: string;
  last_used_on?: string;
  policies: Instead<Policy, { permission_groups: { id: string; name: string }[] }>[];
}

interface PlatformAnswers {
  ApiToken: ApiToken;
  ApiTokenWithValue: ApiToken & { value: string };
  ApiTokenValue: string;
  ApiTokenVerification: Validity & { id: string; status: "active" };
  PermissionGroup: PermissionGroup;
  Account: AccountView;
  AgentTicket: Issued;
  Deprecation: ListedEntry;
  DeprecatedUse: ShownUse;
  DeprecationSettings: ShownSettings;
  Liveness: { status: "ok" };
  Readiness: {
    status: "ready";
    runtime: string;
    parts: Record<string, PartHealth>;
    capabilities: Record<string, true | string>;
  };
}

type GatewayView = Instead<
  Omit<GatewaySettings, "cache_since" | "prices_version">,
  {
    workers_ai_billing_mode?: "postpaid" | "unified" | null;
    // Credentials are masked.
    otel?:
      | {
          url: string;
          headers: Record<string, string>;
          authorization?: string;
          content_type: "json";
        }[]
      | null;
  }
>;

type Usage = Omit<LimitUsage, "resetsAt"> & { resets_at: Text };
type VirtualKey = Times &
  Instead<KeySettings, { expires_at: Text }> & {
    id: string;
    preview: string;
    declared: boolean;
    usage: Usage[];
    former_secret_until: Text;
    last_used_at: Text;
  };

interface GatewayAnswers {
  Gateway: GatewayView;
  GatewayUrl: string;
  GatewayLog: ShownLog;
  ModelList: ModelList;
  GatewayLogDetail: ShownLog & {
    request_head: string;
    request_head_complete: boolean;
    request_size: number;
    response_head: string;
    response_head_complete: boolean;
    response_size: number;
  };
  Team: Times &
    TeamSettings & {
      id: string;
      declared: boolean;
      keys: number;
      usage: Usage[];
    };
  Spend: Pick<SpendQuery, "since" | "until" | "by"> & {
    totals: SpendFigures;
    rows: (SpendFigures & { [column in SpendQuery["by"][number]]?: string })[];
    complete: boolean;
  };
  StoredVirtualKey: VirtualKey;
  VirtualKeyWithSecret: VirtualKey & { key: string };
  ModelPrice: PriceView;
  StoredPrice: PriceRowSetting & { id: string };
  /** In OpenAI's format; what a provider adds of its own passes through. */
  ChatCompletion: { model?: string; choices: Free[]; [more: string]: unknown };
}

type OfGateway = Times & { id: string; gateway_id: string };

interface Dataset extends OfGateway {
  name: string;
  enable: boolean;
  filters: {
    key: string;
    operator: "eq" | "contains" | "lt" | "gt";
    value: (string | number | boolean)[];
  }[];
}

interface RouteVersion {
  version_id: string;
  // A text: so the official client declares it.
  active: "true" | "false";
  created_at: string;
  data: string;
  is_valid: boolean;
}
type Deployment = { deployment_id: string; version_id: string; created_at: string };
type RouteSummary = OfGateway & { name: string; elements: SameAs<"DynamicRoute", "elements"> };
type Route = RouteSummary & { deployment: Deployment; version: RouteVersion; account_tag?: string };

type Bare = { success: true; errors: readonly []; messages: readonly [] };
/** The lists of routes carry `data` where others carry `result`: the official client does not unwrap them. */
type DataList<Lists> = Bare & {
  data: Lists & {
    page: number;
    per_page: number;
    order_by: string;
    order_by_direction: "asc" | "desc";
  };
};

interface GatewayRecordAnswers {
  StoredDataset: Dataset;
  StoredEvaluation: OfGateway & {
    name: string;
    processed: boolean;
    total_logs: number;
    datasets: (Dataset & { account_id: string; account_tag: string })[];
    results: (Times & {
      id: string;
      evaluation_id: string;
      evaluation_type_id: string;
      result: string;
      status: 0 | 1;
      status_description: string;
      total_logs: number;
    })[];
  };
  EvaluationType: Times & {
    id: string;
    name: string;
    type: string;
    description: string;
    enable: boolean;
    mandatory: boolean;
  };
  StoredProviderKey: OfGateway & {
    alias: string;
    default_config: boolean;
    provider_slug: string;
    secret_id: string;
    secret_preview: string;
    /** The origin that the key goes to; of a custom provider's key only. */
    origin?: string;
    rate_limit?: number;
    rate_limit_period?: number;
  };
  StoredCustomProvider: Times & {
    id: string;
    base_url: string;
    name: string;
    slug: string;
    enable: boolean;
    beta: boolean;
    description?: Text;
    headers?: string;
    link?: Text;
    position?: number | null;
    curl_example?: Text;
    js_example?: Text;
  };
  StoredRoute: Route;
  StoredRouteSummary: RouteSummary;
  StoredRouteVersion: RouteSummary & RouteVersion;
  RouteList: DataList<{ routes: Route[] }>;
  RouteRenamed: Bare & { route: Route };
  RouteVersionList: DataList<{ versions: RouteVersion[] }>;
  RouteDeploymentList: DataList<{ deployments: Deployment[] }>;
}

type Tree = { role: string; [more: string]: unknown } | null;
type CrawlCount = Pick<CrawlRead, "status" | "total" | "finished" | "skipped">;

interface RenderingAnswers {
  /** Facts on the page in the envelope of a rendering: `meta`. */
  PageMeta: PageMeta & { truncated?: true };
  RenderedText: string;
  RenderedData: unknown;
  RenderedLinks: string[];
  RenderedElements: Scraped[];
  RenderedSnapshot: Instead<Snapshot, { accessibilityTree?: Tree }>;
  RenderedTree: { accessibilityTree: Tree };
  CrawlId: string;
  CrawlList: {
    jobs: (CrawlCount & Pick<ListedCrawl, "id" | "url"> & { created_at: string; ended_at: Text })[];
    cursor?: number;
  };
  CrawlState: CrawlCount & {
    id: string;
    browserSecondsUsed: number;
    cursor?: number;
    records: (Omit<CrawlRecord, "seq" | "attempts" | "sizes" | "status"> & {
      status: RecordStatus;
      html?: string;
      markdown?: string;
      json?: unknown;
    })[];
  };
  CrawlEnd: { job_id: string; message: string };
  SiteMap: { links: string[] };
}

type Optional = "sync_interval" | "synonyms" | "typo_tolerance" | "token_id";
type Found = Omit<SearchResult, "notes">;

interface SearchAnswers {
  SearchInstance: Required<Omit<ShownInstance, Optional | "source_params">> &
    Pick<ShownInstance, Optional> & { source_params: Free | null };
  SearchInstanceStats: Record<Item["status"], number> & {
    last_activity?: string;
    degraded: boolean;
    file_embed_errors: Record<string, number>;
    index_source_errors: Record<string, number>;
    engine: {
      vectorize: { dimensions: number; vectorsCount: number; streamed?: true };
      r2: { metadataSizeBytes: number; objectCount: number; payloadSizeBytes: number };
    };
  };
  // Namespaces have no public endpoints.
  SearchNamespace: Instead<Namespace, { public_endpoint_params: null }>;
  SearchItem: Item;
  SearchItemChunk: ItemChunk;
  SearchItemLog: ItemLog;
  SearchJob: SyncJob;
  SearchJobLog: Instead<JobLog, { message_type: 0 | 1 }>;
  SearchQuestion: AskedQuestion;
  QuestionsCleared: { cleared: true };
  ClickCounted: { counted: boolean };
  SearchTokenShown: SearchToken;
  SearchResult: Found;
  SearchAcrossResult: Found & { errors: InstanceFailure[] };
  SearchCompletion: Instead<
    ChatCompletion,
    {
      usage: {
        prompt_tokens: number;
        completion_tokens: number;
        total_tokens: number;
        [more: string]: unknown;
      };
    }
  >;
}

interface Delivery {
  id: string;
  message_id: string;
  endpoint_id: string;
  entity: Text;
  status: "pending" | "delivered" | "dead" | "canceled" | "replayed";
  attempts: number;
  /** Milliseconds of the server's steady clock. */
  due: number;
  last_status: number | null;
  last_error: Text;
  created_at: string;
  finished_at: Text;
}

type FailedJob = Omit<Failure, "state"> & { agent: string; entity: string };
type Received = { id: string; entity: string; status: "duplicate" | "processed" | "queued" };
type InEnvelope<Result> = {
  success: true;
  result: Result;
  errors: readonly [];
  messages: { code: number; message: string; type?: null }[];
};

interface WebhookAnswers {
  WebhookSource: SourceView;
  WebhookEntity: { agent: string; entity: string; source: Text; last_seen: string };
  AgentState: {
    state: unknown;
    schedules: Instead<Schedule, { payload: unknown }>[];
    /** The tasks that wait, the next first: at most 100. */
    queue: Instead<QueuedTask, { payload: unknown }>[];
    /** The names of the operations that clients may call. */
    callables: string[];
  };
  WebhookEvent: EventRecord & { seq: number; source: string };
  QueuedJob: { job: string };
  WebhookFailure: FailedJob;
  /** As the index has it, or as its entity's agent holds it: with the payload. */
  DeadLetter:
    | FailedJob
    | (Pick<Failure, "id" | "task" | "attempts" | "error" | "failed_at"> & {
        payload: Text;
        event_seq: number | null;
      });
  EntityReplayState: ReplayFilter & {
    id: string;
    status: "running" | "completed" | "canceled";
    entities: number;
    done: number;
    failed: number;
    queued: number;
    created_at: string;
    finished_at: Text;
  };
  WebhookStats: {
    counters: Record<(typeof counterNames)[number], number>;
    pending: number;
    oldest_pending_seconds: number | null;
    dead: number;
    endpoints: { total: number; enabled: number; tripped: number };
    inbound?: Record<string, SourceCounts>;
  };
  WebhookApplication: Application;
  WebhookPortal: PortalView;
  WebhookPortalLink: PortalLinkView;
  WebhookTopic: TopicFigures;
  WebhookEndpoint: EndpointView;
  WebhookEndpointWithSecret: EndpointWithSecret;
  WebhookSent: SendResult;
  WebhookDelivery: Delivery;
  WebhookDeliveryDetail: Delivery & {
    type: string;
    /** The body, as it is sent. */
    payload: string;
    log: {
      attempt: number;
      at: string;
      duration_ms: number | null;
      status: number | null;
      error: Text;
      headers: Record<string, string> | null;
      body: Text;
    }[];
  };
  DeliveriesReplayed: { replayed: number; more: boolean };
  /** For one event, for a list of them, or for a test of the address. */
  WebhookReceived:
    | InEnvelope<Received & { agent: string; job?: string }>
    | InEnvelope<{
        agent: string;
        events: Received[];
        status: "processed" | "queued";
        job?: string;
      }>
    | { challenge: string }
    | { plainToken: string; encryptedToken: string }
    | { type: 1 };
}
