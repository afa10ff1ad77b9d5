import type { AgentsOptions } from "../agents/mod.ts";
import type { Auth } from "../auth/authorize.ts";
import type { StoredTokensOptions } from "../auth/mod.ts";
import type { WebConsole } from "../console/mod.ts";
import type { DeprecationsOptions, EntrySettings, PerEntry } from "../deprecations/mod.ts";
import type { GatewayOptions } from "../gateway/mod.ts";
import type { ResumeOptions } from "../gateway/resume/mod.ts";
import type { SemanticCacheOptions } from "../gateway/semantic-cache/mod.ts";
import type { ApiDescription } from "../openapi/mod.ts";
import type { Platform } from "../ports.ts";
import type { RenderingOptions } from "../rendering/mod.ts";
import type { GatewayEmbeddings, GatewayModel, SearchOptions } from "../search/mod.ts";
import type { OtlpSettings } from "../signals/otlp/otlp-settings.ts";
import type { PartName } from "../signals/requests/route-template.ts";
import type { WebhooksOptions } from "../webhooks/mod.ts";

/** A capability's options without those that the platform gives to all of them, so that a user writes these once. */
export type Own<Options> = Omit<
  Options,
  "platform" | "auth" | "accountId" | "mountPath" | "proxies" | "publicUrl"
>;

/** The gateway's options; its semantic cache uses the search part's embedder by default. */
type GatewayPart = Omit<Own<GatewayOptions>, "semanticCache" | "resume"> & {
  readonly semanticCache?: Partial<SemanticCacheOptions>;
  readonly resume?: ResumeOptions | undefined;
};

/** The options of search; its models may be those of a gateway of this program, which asks them in process. */
type SearchPart = Omit<Own<SearchOptions>, "embedder" | "chatModel" | "ocr"> & {
  readonly embedder?: SearchOptions["embedder"] | GatewayEmbeddings;
  readonly chatModel?: SearchOptions["chatModel"] | GatewayModel;
  readonly ocr?: SearchOptions["ocr"] | GatewayModel;
};

/** The options of rendering; with a model of a gateway of this program, callers may name others of that gateway. */
type RenderingPart = Omit<Own<RenderingOptions>, "chatModel"> & {
  readonly chatModel?: RenderingOptions["chatModel"] | GatewayModel;
};

/** Options of {@link platformApi}; every part works with none. */
export interface PlatformApiOptions extends StoredTokensOptions {
  /** The runtime: `nodePlatform()`, `denoPlatform()`, `bunPlatform()`, `workersPlatform()` or `memoryPlatform()`. */
  readonly platform: Platform;
  /** The account that webhooks and agents belong to. @default "local" */
  readonly accountId?: string;
  /**
   * The path prefix that a host removes before this app sees the request, as `app.mount("/platform", api.fetch)` and
   * some proxies do: links and addresses include it. Not needed below `app.route()`. @default ""
   */
  readonly mountPath?: string;
  /**
   * The origin under which clients reach the server, such as `https://ai.example.com`: addresses in answers begin with it.
   * Callers can set `Host` to anything, so without this option only requests to `localhost` get whole addresses; other
   * requests get paths. @default none
   */
  readonly publicUrl?: string;
  /** Replaces API tokens by the host's own authentication. @default the stored and configured tokens */
  readonly auth?: Auth;
  /** Serves the deterministic demo provider `echo`. @default false */
  readonly demo?: boolean;
  readonly gateway?: GatewayPart;
  readonly rendering?: RenderingPart;
  readonly search?: SearchPart;
  readonly webhooks?: Omit<Own<WebhooksOptions>, "agentClasses">;
  /** The agent classes; `webhook-agent` is always there. @default [] */
  readonly agents?: Own<AgentsOptions>["agents"];
  /** Access to agents from pages and over HTTP. */
  readonly agentAccess?: Pick<AgentsOptions, "eventStream" | "origins">;
  /** Deprecations. Settings that are changed by the API outrank the ones given here. */
  readonly deprecations?: Omit<Own<DeprecationsOptions>, "settings"> & {
    readonly settings?: PerEntry<EntrySettings>;
  };
  /**
   * Writes a line for each request that comes in through `fetch`, with its route, status, time and the reason of an
   * error. An app that is mounted by `route()` has no `fetch` of its own. @default false
   */
  readonly accessLog?: boolean;
  /** Counts these requests, for `/metrics`. @default false */
  readonly metrics?: boolean;
  /**
   * Serves the description of the API at `/openapi.json`, and as a page at `/docs`, to everybody. Pass `apiDescription` of
   * `causey/openapi`. @default neither is served
   */
  readonly openApi?: ApiDescription | undefined;
  /**
   * Sends traces, metrics and logs of every part to a collector (OTLP as JSON): `otlpSettings((name) => process.env[name])`
   * reads the standard variables. @default none is sent
   */
  readonly telemetry?: OtlpSettings | null | undefined;
  /**
   * Parts whose spans are written to the log at the level `debug`: name, duration in ms, outcome and ids, never content.
   * Requests of all parts to other programs then carry `traceparent`. @default []
   */
  readonly debug?: readonly PartName[];
  /** Serves the web console at `/console`, for everyone with an API token: `webConsole` of `causey/console`. @default none */
  readonly console?: WebConsole | undefined;
}
