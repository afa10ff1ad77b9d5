/** Characters of base64 that are data for sure: no word and no key is as long. */
const DATA_URL = /data:[\w.+-]+\/[\w.+-]+(?:;[\w=.+-]+)*;base64,[\w+/=%-]{64,}/gu;
const BASE64 = /^[A-Za-z0-9+/_-]{512,}={0,2}$/u;

/** Returns a text without the pictures and files that are written into it as `data:` addresses. */
export function withoutData(text: string): string {
  return text.includes(";base64,") ? text.replaceAll(DATA_URL, "data:") : text;
}

/** Whether a value is nothing but base64 of a picture or a file. */
export function isData(value: string): boolean {
  return value.length >= 512 && BASE64.test(value.replaceAll(/[\r\n]/gu, ""));
}
