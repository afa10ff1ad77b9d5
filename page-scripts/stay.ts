import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";

export const stayOnPage: PageFunctions["stayOnPage"] = () => {
  globalThis.navigation?.addEventListener("navigate", (event) => {
    if (event.cancelable && !event.hashChange) event.preventDefault();
  });
  addEventListener("submit", (event) => event.preventDefault(), true);
};

export const neverSubmit: PageFunctions["neverSubmit"] = () => {
  HTMLFormElement.prototype.submit = () => undefined;
};
