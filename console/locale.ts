/** Whether `Intl` knows a language by this name. */
function isKnown(language: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(language).length > 0;
  } catch {
    return false;
  }
}

// Browsers that are started under the locale "C" call their language "en-US@posix", which `Intl`, and with it the
// chart library as it loads, refuses. This module is loaded before that one.
if (!isKnown(navigator.language)) Object.defineProperty(navigator, "language", { value: "en-US" });
