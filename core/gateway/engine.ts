import { bodyBudget } from "../work/body-budget.ts";
import type { Auth } from "../auth/authorize.ts";
import { loginGuard } from "../auth/login-guard.ts";
import { storedTokens } from "../auth/mod.ts";
import type { AnswerSilence, Platform } from "../ports.ts";
import { gatewayAccess, type GatewayAccess } from "./entry/access.ts";
import { replyCache } from "./cache/exact/reply-cache.ts";
import { type KeptAnswersParts, keptAnswers } from "./cache/kept-answers.ts";
import type { Checks } from "./call/checks.ts";
import { type Forward, forwarding } from "./call/forward.ts";
import type { AttemptObserver } from "./call/ended-attempt.ts";
import { choosing } from "./routing/choosing.ts";
import { type GatewayAdmission, admission } from "./entry/admission.ts";
import { peekFailure } from "./chat/failures/peek-failure.ts";
import { cleaning } from "./entry/cleaning.ts";
import { delivery } from "./entry/delivery.ts";
import { isRevocable, withFreshCaller } from "./entry/fresh-caller.ts";
import type { FrontParts } from "./entry/front.ts";
import { needsBody } from "./entry/request-body.ts";
import { type CheckParts, recordedChecks } from "./guard/checkers/recorded-checks.ts";
import { type Safety, safetyOf } from "./guard/checkers/safety.ts";
import { ownTokenGuard } from "./guard/tokens/own-token-guard.ts";
import { callLimits } from "./account/keys/call-limits.ts";
import { type GatewayStore, gatewayStore } from "./account/gateways/store.ts";
import { type KeyStore, keyStore } from "./account/keys/key-store.ts";
import { budgetReport, type ReportBudgets } from "./observe/budget-report.ts";
import { recorder } from "./observe/recorder.ts";
import { type GatewayMetrics, gatewayMetrics } from "./observe/metrics/metrics.ts";
import { type SpendDays, spendDays } from "./observe/spend/spend-days.ts";
import { type AccountPrices, accountPrices } from "./prices/account-prices.ts";
import type { StoredProviders } from "./account/records/stored-providers.ts";
import { outbound } from "./providers/outbound.ts";
import { configuredTargets } from "./providers/configured/configured-targets.ts";
import { localModels } from "./providers/configured/local-models.ts";
import { accessTokens } from "./providers/clouds/access-tokens.ts";
import { placedInCloud } from "./providers/clouds/cloud-place.ts";
import { cloudSettings } from "./providers/credential.ts";
import { targetsOf } from "./providers/target.ts";
import { spokenFormats } from "./providers/spoken-formats.ts";
import type { ConnectParts } from "./realtime/connect.ts";
import { providerSocket, type ProviderSocketParts } from "./realtime/provider-socket.ts";
import { type RecordStore, recordStore } from "./account/records/records.ts";
import type { ResumableRuns } from "./entry/resume-run.ts";
import { actorName } from "./account/settings/gateway-name.ts";
import type { GatewaySettings } from "./account/settings/settings.ts";
import {
  checkDeclared,
  type GatewayOptions,
  gatewayVault,
  unreadable,
  ownPrices,
  waitLimits,
  checkProviders,
} from "./entry/options.ts";
import { contentDecoding } from "../http/body/content-decoder.ts";
import { checkDeclaredKeys, doubtfulGateways } from "./account/keys/declared-keys.ts";
import { keyEntry } from "./account/keys/key-entry.ts";
import { type LogQueue, logQueue } from "./observe/log/log-queue.ts";
import { logIds } from "./observe/log/log-row.ts";
import { storedProviders, withDeclaredProviders } from "./providers/stored/stored-providers.ts";
import type { Vault } from "./account/records/vault.ts";
import { type AutoRouter, autoRouter } from "./routing/router/auto-router.ts";
import { modelPools } from "./routing/pools/model-pools.ts";
import { type TargetHealth, targetHealth } from "./routing/pools/target-health.ts";
import { storedReplies } from "./cache/exact/stored-replies.ts";
import { tokenSearches } from "./guard/tokens/token-search.ts";
import { tracing } from "./observe/trace/tracing.ts";

/** One gateway engine: what the entries work with. */
export interface Engine extends Omit<FrontParts, "sockets">, ConnectParts {
  readonly platform: Platform;
  /** Finds out who calls the management API. */
  readonly auth: Auth;
  readonly access: GatewayAccess;
  readonly admission: GatewayAdmission;
  readonly store: GatewayStore;
  readonly keys: KeyStore;
  readonly records: RecordStore;
  readonly vault: Vault;
  readonly prices: AccountPrices;
  readonly health: TargetHealth;
  readonly metrics?: GatewayMetrics | undefined;
  readonly spend: SpendDays;
  readonly logs: LogQueue;
  readonly resume?: ResumableRuns | undefined;
}

/** Puts the parts of a gateway together; throws `invalid_options`. */
export function gatewayEngine(options: GatewayOptions): Engine {
  const { platform, auth = storedTokens(platform), gateways = {}, accountId } = options;
  const { system, log } = platform;
  checkOptions(options);
  const declared = { gateways, accountId };
  const keys = keyStore(options);
  // One budget with the API's tokens, where it has one.
  const logins = (auth === "off" ? undefined : auth.logins) ?? loginGuard(platform);
  const records = recordStore(platform);
  const report = budgetReport(options);
  const entry = keyEntry(keys, system, report);
  const vault = gatewayVault(options);
  const shared = {
    platform,
    system,
    log,
    auth,
    keys,
    report,
    records,
    vault,
    access: gatewayAccess({ auth, ...declared, system, keys: entry, logins }),
    ...gatewayLogs(options, declared),
    prices: accountPrices(ownPrices(options), records, system),
    resume: options.resume?.(system),
    spend: spendDays(platform),
    targets: configuredTargets(options, accountId),
    pools: modelPools(declared),
    health: targetHealth(system),
    bodies: platform.bodies ?? bodyBudget(Number.POSITIVE_INFINITY),
    decoding: contentDecoding(system),
    failureStatus: options.compat2005 ?? 502,
    accessLog: options.accessLog ?? false,
    nextLogId: logIds(system),
    ...waitLimits(options),
  } as const;
  const stored = withDeclaredProviders(storedProviders(records, vault, system), declared);
  const router = routerOf(options, shared);
  const pipeline = stepPipeline(options, shared, stored);
  const { forward, hasChecks } = pipeline;
  const gatewayAdmission = admission({
    ...shared,
    tracing: tracing(platform, records, vault, options.spans),
    resumes: shared.resume !== undefined,
  });
  return {
    ...shared,
    account: accountId ?? "local",
    admission: gatewayAdmission,
    forward,
    answer: choosing({ ...shared, forward, stored, router }),
    deliver: delivery(shared),
    needsBody: (step, call) => needsBody(step, call, { ...shared, hasChecks }),
    stored,
    localModels: localModels({ platform, stored }),
    routes: router !== undefined,
    providerSocket: (asked) =>
      providerSocket(asked, { ...shared, ...pipeline, admission: gatewayAdmission }),
  };
}

/** Throws `invalid_options` for what no request could use. */
function checkOptions(options: GatewayOptions): void {
  checkProviders(options);
  checkDeclared(options.gateways ?? {}, options);
  checkDeclaredKeys(options);
  for (const doubt of doubtfulGateways(options, Object.keys(options.gateways ?? {})))
    options.platform.log("warn", "A virtual key names a gateway that is not declared", {
      ...doubt,
    });
}

function routerOf(
  { router, platform }: GatewayOptions,
  { health, prices }: Pick<Engine, "health" | "prices">,
): AutoRouter | undefined {
  return router && autoRouter(router, platform, { health, prices: prices.base });
}

/** The dependencies that all parts of an engine share. */
type Shared = Pick<
  Engine,
  "platform" | "system" | "log" | "access" | "store" | "keys" | "metrics" | "targets" | "bodies"
> &
  Pick<Engine, "logs"> &
  Pick<Engine, "decoding" | "failureStatus"> & {
    readonly report: ReportBudgets;
    readonly spend: SpendDays;
    readonly nextLogId: () => string;
    readonly firstByteMs: number;
    readonly silence: AnswerSilence;
    readonly accessLog: boolean;
  };

/** Bytes that are kept of all answers under way, for their rows and their usage: as many as may wait for the database. */
const COPIES = 64 * 1024 * 1024;

/** Everything that handles one step between admission and delivery. */
interface StepPipeline extends Pick<
  ProviderSocketParts,
  "webSockets" | "safetyOf" | "stripOwnTokens" | "prepare" | "limits" | "recorder" | "firstByteMs"
> {
  readonly forward: Forward;
  readonly hasChecks: (settings: GatewaySettings) => boolean;
}

function stepPipeline(
  options: GatewayOptions,
  shared: Shared,
  stored: StoredProviders,
): StepPipeline {
  const { platform, system, log, decoding, access, targets, store, metrics } = shared;
  const copies = bodyBudget(Math.min(COPIES, shared.bodies.capacity / 4));
  const reading = { decoding, unreadable: unreadable(log), copies };
  const follow = recorder({
    ...reading,
    system,
    nextLogId: shared.nextLogId,
    logBodyLimit: options.logBodyLimit ?? 960 * 1024,
    observers: attemptObservers(shared),
    followsAll: metrics !== undefined,
  });
  const limits = callLimits({
    ...shared,
    refused: metrics && ((name, reason) => metrics.refuse(name, reason)),
  });
  const stripOwnTokens = ownTokenGuard({ access, searchFor: tokenSearches() });
  const spoken = spokenFormats(system);
  const tokens = accessTokens(platform);
  const outbounds = { platform, targets, stored, decoding, recorder: follow, spoken, tokens };
  const safety = (settings: GatewaySettings): Safety | null =>
    safetyOf(settings, options, { log, decoding, system });
  const forward = forwarding({
    ...shared,
    transport: platform.transport,
    clean: cleaning({ stripOwnTokens, recorder: follow, decoding }),
    place: async (step, call) => {
      const own = await cloudSettings(step.slug, call, targetsOf(targets, call.name), stored);
      return placedInCloud(step, step.cloud ?? "chat/completions", own);
    },
    prepare: (step, call) => outbound(step, call, outbounds),
    checksOf: checksBy(safety, { ...reading, bodies: shared.bodies, recorder: follow }),
    limits,
    peekFailure: (answer) => peekFailure(answer, { system, decoding }),
    answers: keptAnswers(answerStores(options, store)),
    recorder: follow,
    reviewOf: (call) => (isRevocable(call) ? () => withFreshCaller(call, access) : null),
  });
  return {
    forward,
    hasChecks: (settings) => safety(settings) !== null,
    webSockets: platform.webSockets,
    safetyOf: safety,
    stripOwnTokens,
    prepare: (step, call, moved) => outbound(step, call, { ...outbounds, targets: moved }),
    limits,
    recorder: follow,
    firstByteMs: shared.firstByteMs,
  };
}

/** Makes the store of the gateways, and what writes to it behind requests. */
function gatewayLogs(
  { metrics: isCounted, platform }: GatewayOptions,
  declared: Omit<Parameters<typeof gatewayStore>[0], "platform">,
): Pick<Engine, "store" | "metrics" | "logs"> {
  const { system, log } = platform;
  const store = gatewayStore({ platform, ...declared });
  const metrics = isCounted === true ? gatewayMetrics(platform) : undefined;
  const logs = logQueue({
    system,
    log,
    store: (actor, rows) => store.append(actor, rows),
    onDrop: (actor, rows) => metrics?.drop(actor, rows),
  });
  return { store, metrics, logs };
}

/** Lists the observers of each attempt: the metrics, the spend by day and the log. */
function attemptObservers({
  logs,
  metrics,
  spend,
}: Pick<Shared, "logs" | "metrics" | "spend">): AttemptObserver[] {
  const logged: AttemptObserver = ({ name, isLogged, row }) => {
    if (isLogged) logs.push(actorName(name), row);
  };
  const observers = [spend.count, logged];
  return metrics === undefined
    ? observers
    : [({ name, row }) => metrics.count(name, row), ...observers];
}

function answerStores(options: GatewayOptions, store: GatewayStore): KeptAnswersParts {
  const { platform, semanticCache: semantic } = options;
  const { system, log } = platform;
  const cache = replyCache(system, options.cacheBytes ?? 64 * 1024 * 1024);
  const capacity = options.storedCacheBytes ?? 128 * 1024 * 1024;
  return {
    system,
    cache,
    replies: capacity > 0 ? storedReplies({ store, system, log, capacity }) : undefined,
    semantic: semantic?.(cache, platform),
  };
}

/** The checks of a gateway, which leave rows. */
function checksBy(
  safety: (settings: GatewaySettings) => Safety | null,
  parts: CheckParts,
): (settings: GatewaySettings) => Checks | null {
  return (settings) => {
    const found = safety(settings);
    return found === null ? null : recordedChecks(found, parts);
  };
}
