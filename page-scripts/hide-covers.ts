import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import { attributesOf, bodyOf, boxOf, findAll, rootOf, shadowOf, textOf } from "./safe-members.ts";

/** Elements that are looked at, and the most text of a banner. */
const ELEMENTS = 50_000;
const TEXT = 6000;

const ASKS =
  /cookie|consent|gdpr|dsgvo|rgpd|lgpd|ccpa|datenschutz|einwillig|confidentialit|privacidad|privacy|プライバシー|隐私|個人情報/iu;

interface Layer {
  readonly element: Element;
  readonly isDialog: boolean;
}

/**
 * Layers are known by how they are placed and by their words, so that no list of names has to be kept. A page that was locked behind
 * them can be scrolled again.
 */
export const hideCovers: PageFunctions["hideCovers"] = (banners, overlays) => {
  // A site locks its page by body { position: fixed }, which does not make the page a layer.
  const whole = [rootOf(document), bodyOf(document)].filter((part) => part !== null);
  const layers = allElements()
    .filter((element) => !(whole as Element[]).includes(element))
    .flatMap(layerOf);
  let hidden = 0;
  for (const { element, isDialog } of layers) {
    const share = shareOf(element);
    const isBanner = banners && share < 1.01 && ASKS.test(wordsOf(element));
    const isCover = overlays && (isDialog || share >= 0.25);
    if (!isBanner && !isCover) continue;
    setStyle(element, "display", "none");
    hidden++;
  }
  if (hidden === 0) return 0;
  for (const { element } of layers) if (isShade(element)) setStyle(element, "display", "none");
  for (const element of whole) unlock(element);
  return hidden;
};

/** Lists the elements of the document and of its open shadow trees. */
function allElements(): Element[] {
  const all: Element[] = [];
  const collect = (whole: Document | ShadowRoot): void => {
    const inside = whole instanceof Document ? findAll(whole, "*") : whole.querySelectorAll("*");
    for (const element of inside) {
      if (all.length >= ELEMENTS) return;
      all.push(element);
      const shadow = shadowOf(element);
      if (shadow !== null) collect(shadow);
    }
  };
  collect(document);
  return all;
}

/** Returns an element that is shown and lies over the page, as a list of one. */
function layerOf(element: Element): Layer[] {
  const { position, display, zIndex } = getComputedStyle(element);
  if (display === "none") return [];
  const isDialog =
    element.nodeName === "DIALOG" ||
    valueOf(element, "aria-modal") === "true" ||
    /^(?:alert)?dialog$/u.test(valueOf(element, "role"));
  const isLayer =
    position === "fixed" ||
    (position === "sticky" && ASKS.test(valueOf(element, "id") + valueOf(element, "class"))) ||
    (position === "absolute" && Number(zIndex) >= 100);
  return isDialog || isLayer ? [{ element, isDialog }] : [];
}

/** Returns the share of the window that an element covers. */
function shareOf(element: Element): number {
  const { left, right, top, bottom } = boxOf(element);
  const width = Math.min(right, innerWidth) - Math.max(left, 0);
  const height = Math.min(bottom, innerHeight) - Math.max(top, 0);
  const area = Math.max(1, innerWidth * innerHeight);
  return width > 0 && height > 0 ? (width * height) / area : 0;
}

function wordsOf(element: Element): string {
  const names = ["id", "class", "title", "aria-label", "src"];
  const named = names.map((name) => valueOf(element, name)).join(" ");
  const shadow = shadowOf(element);
  const text = (textOf(element) ?? "") + (shadow === null ? "" : textOf(shadow));
  return text.length > TEXT ? named : `${named} ${text}`;
}

/** Whether an element is the shade behind a layer, which has no words of its own. */
function isShade(element: Element): boolean {
  return (
    (textOf(element) ?? "").trim() === "" &&
    element.querySelector("img,video,canvas,iframe,svg") === null &&
    shareOf(element) > 0.9
  );
}

/** Lets a page be scrolled. */
function unlock(element: Element): void {
  const { overflowY, position } = getComputedStyle(element);
  if (overflowY === "hidden" || overflowY === "clip") setStyle(element, "overflow", "visible");
  if (position === "fixed") setStyle(element, "position", "static");
}

function setStyle(element: Element, name: string, value: string): void {
  (element as Partial<ElementCSSInlineStyle>).style?.setProperty(name, value, "important");
}

function valueOf(element: Element, name: string): string {
  return attributesOf(element).getNamedItem(name)?.value ?? "";
}
