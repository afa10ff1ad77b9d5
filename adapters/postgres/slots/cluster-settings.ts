/** How the processes that share a database call each other. */
export interface ClusterSettings {
  /** The `host:port` at which this process listens for the others; port 0 takes any free one. @default "127.0.0.1:0" */
  readonly listen?: string;
  /** The host by which the others reach it. Needed where it listens on all addresses. @default that of `listen` */
  readonly advertise?: string;
  /** The secret that signs their calls, at least 16 characters, the same for all. @default a random one, kept in the database */
  readonly secret?: string;
  /** How long a process that does not answer keeps its actors, in ms, 1000 to 600000. @default 10000 */
  readonly leaseMs?: number;
}

/** Settings that can be used. */
export interface CheckedSettings extends Omit<ClusterSettings, "listen"> {
  readonly listen: { readonly host: string; readonly port: number };
}

/** Bounds of a lease, in ms. */
const LEASE_MS = { from: 1000, to: 600_000 };
const SECRET_LENGTH = 16;
/** Hosts that stand for all addresses of a machine: called, they are the caller itself. */
const ALL_ADDRESSES = /^(?:0\.0\.0\.0|[:0]+)$/u;

/** Checks settings; throws one line that says what to write. */
export function checkCluster(settings: ClusterSettings = {}): CheckedSettings {
  const { advertise, leaseMs, secret } = settings;
  const listen = listenAddress(settings.listen);
  if (ALL_ADDRESSES.test(advertise ?? listen.host))
    throw new Error(
      `cluster.listen is "${listen.host}", all addresses: set cluster.advertise (--cluster-advertise) to the one by which the others reach this machine`,
    );
  if (secret !== undefined && secret.length < SECRET_LENGTH)
    throw new Error(`cluster.secret is too short: ${SECRET_LENGTH} characters at least`);
  if (leaseMs !== undefined && !(leaseMs >= LEASE_MS.from && leaseMs <= LEASE_MS.to))
    throw new Error(`cluster.leaseMs is ${leaseMs}: write ${LEASE_MS.from} to ${LEASE_MS.to}`);
  return { ...settings, listen };
}

/** Reads `host:port`. @default this machine alone, any free port */
function listenAddress(text = "127.0.0.1:0"): CheckedSettings["listen"] {
  const found = /^(?:\[([\da-f:.]+)\]|([^\s:/]+)):(\d{1,5})$/iu.exec(text);
  const port = Number(found?.[3]);
  const host = found?.[1] ?? found?.[2];
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new Error(
    `cluster.listen is "${text}": write host and port, such as "10.0.0.5:8788" or "[::1]:8788"`,
  );
}
