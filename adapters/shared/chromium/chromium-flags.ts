/** Options of {@link chromiumFlags}. */
export interface FlagOptions {
  readonly profile: string;
  /** Port of the egress proxy on loopback. */
  readonly proxyPort: number;
  readonly noSandbox: boolean;
}

/** Parts of Chromium that talk to its maker or prefetch on their own. */
const disabledFeatures = [
  "AcceptCHFrame",
  "AutofillServerCommunication",
  "CertificateTransparencyComponentUpdater",
  "DialMediaRouteProvider",
  "MediaRouter",
  "OptimizationHints",
  "Prerender2",
  "SpareRendererForSitePerProcess",
  "Translate",
];

/** Returns the command line of a browser whose every connection goes through the egress proxy. */
export function chromiumFlags(options: FlagOptions): string[] {
  return [
    "--headless",
    "--remote-debugging-pipe",
    `--user-data-dir=${options.profile}`,
    // The boundary: without <-loopback> Chromium skips the proxy for localhost, and WebRTC would send
    // UDP past it. Names are resolved by the proxy only, so the browser's own resolver finds nothing.
    `--proxy-server=http://127.0.0.1:${options.proxyPort}`,
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--block-new-web-contents",
    "--deny-permission-prompts",
    `--disable-features=${disabledFeatures.join(",")}`,
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-service-autorun",
    "--no-startup-window",
    "--password-store=basic",
    // Rendering the same everywhere, in containers with a small /dev/shm too.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    ...(options.noSandbox ? ["--no-sandbox"] : []),
  ];
}
