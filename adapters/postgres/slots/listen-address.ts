/** Reads `host:port`; throws one line for anything else. @default this machine alone, any free port */
export function listenAddress(text = "127.0.0.1:0"): {
  readonly host: string;
  readonly port: number;
} {
  const found = /^(?:\[([\da-f:.]+)\]|([^\s:/]+)):(\d{1,5})$/iu.exec(text);
  const port = Number(found?.[3]);
  const host = found?.[1] ?? found?.[2];
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new Error(
    `cluster.listen is "${text}": write host and port, such as "10.0.0.5:8788" or "[::1]:8788"`,
  );
}
