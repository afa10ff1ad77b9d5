import { safeMembers } from "./safe-members.ts";

/**
 * Hides what lies over a page: banners that ask for consent, and dialogs and other layers that cover a quarter of the window. They
 * are known by how they are placed and by their words, so that no list of names has to be kept. A page that was locked behind
 * them can be scrolled again.
 */
export const hideCoversScript: string = `function (banners, overlays) {
  const { attributesOf, bodyOf, boxOf, findAll, rootOf, shadowOf, textOf } = ${safeMembers};
  const ELEMENTS = 50000;
  const TEXT = 6000;
  const asks = /cookie|consent|gdpr|dsgvo|rgpd|lgpd|ccpa|datenschutz|einwillig|confidentialit|privacidad|privacy|プライバシー|隐私|個人情報/iu;
  const valueOf = (element, name) => attributesOf(element).getNamedItem(name)?.value ?? "";
  const all = [];
  const collect = (whole) => {
    for (const element of whole instanceof Document ? findAll(whole, "*") : whole.querySelectorAll("*")) {
      if (all.length >= ELEMENTS) return;
      all.push(element);
      const shadow = shadowOf(element);
      if (shadow !== null) collect(shadow);
    }
  };
  collect(document);
  const hide = (element) => element.style?.setProperty("display", "none", "important");
  const area = Math.max(1, innerWidth * innerHeight);
  const shareOf = (element) => {
    const { left, right, top, bottom } = boxOf(element);
    const width = Math.min(right, innerWidth) - Math.max(left, 0);
    const height = Math.min(bottom, innerHeight) - Math.max(top, 0);
    return width > 0 && height > 0 ? (width * height) / area : 0;
  };
  const wordsOf = (element) => {
    const named = ["id", "class", "title", "aria-label", "src"].map((name) => valueOf(element, name)).join(" ");
    const text = (textOf(element) ?? "") + (shadowOf(element) === null ? "" : textOf(shadowOf(element)));
    return text.length > TEXT ? named : named + " " + text;
  };
  let hidden = 0;
  const layers = [];
  // A site locks its page by body { position: fixed }, which does not make the page a layer.
  const whole = [rootOf(document), bodyOf(document)];
  for (const element of all) {
    if (whole.includes(element)) continue;
    const { position, display, zIndex } = getComputedStyle(element);
    if (display === "none") continue;
    const isDialog = element.nodeName === "DIALOG" || valueOf(element, "aria-modal") === "true" ||
      /^(?:alert)?dialog$/u.test(valueOf(element, "role"));
    const isLayer = position === "fixed" || (position === "sticky" && asks.test(valueOf(element, "id") + valueOf(element, "class"))) ||
      (position === "absolute" && Number(zIndex) >= 100);
    if (isDialog || isLayer) layers.push([element, isDialog]);
  }
  for (const [element, isDialog] of layers) {
    const share = shareOf(element);
    const isBanner = banners && share < 1.01 && asks.test(wordsOf(element));
    const isCover = overlays && (isDialog || share >= 0.25);
    if (!isBanner && !isCover) continue;
    hide(element);
    hidden++;
  }
  if (hidden === 0) return 0;
  // The shade behind them has no words of its own.
  for (const [element] of layers)
    if ((textOf(element) ?? "").trim() === "" && element.querySelector("img,video,canvas,iframe,svg") === null && shareOf(element) > 0.9) hide(element);
  for (const element of whole) {
    if (element === null) continue;
    const { overflowY, position } = getComputedStyle(element);
    if (overflowY === "hidden" || overflowY === "clip") element.style?.setProperty("overflow", "visible", "important");
    if (position === "fixed") element.style?.setProperty("position", "static", "important");
  }
  return hidden;
}`;
