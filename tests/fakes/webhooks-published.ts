import { fromBase64, toBase64, utf8 } from "../../core/crypto/encoding.ts";
import type { RemoteKeys } from "../../core/webhooks/signing/remote-keys.ts";
import type { OutboundRequest, Transport } from "../../core/ports.ts";

/**
 * A certificate that signs itself, made for these tests: `openssl req -x509 -newkey rsa:2048 -nodes -days 36500` of OpenSSL 3,
 * valid from 2026-11-27.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIDGTCCAgGgAwIBAgIUUWsNJpZPJz4yAV+LNtPFY58qgXAwDQYJKoZIhvcNAQEL
BQAwGzEZMBcGA1UEAwwQc25zLmV4YW1wbGUudGVzdDAgFw0yNjExMjcwNDU1NDNa
GA8yMTI2MTEwMzA0NTU0M1owGzEZMBcGA1UEAwwQc25zLmV4YW1wbGUudGVzdDCC
ASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAJw0gFUIL8hRQg0eLdWR7eN8
ivSSLYkBUhna4IJcuywSH5YJFoYNy1LK2zZDoaJTr9E67k1iCeHTm2TumZVW+Fv1
/xGSLx5SyvNJ7fhskviF8E5GEB9au6HGZTb5WKbmqE2M7c7FQiJ2wIcTOjJmARxV
rV4UdYkte7z3YI99NyhXRhUQfCZRnLlnEYVWc7sZ9hUYbZ3FdNUlibqJps8ffbNh
txjbY2Hhk8HEvlT0fAfu7pvj1alu2wui/bTyw+IxnU8MjnCoBojFtSKmsaXgI1Ya
t2ls9GdmM2bjbJSP1OvR13aR+dfQspjWH8t04OHEpklkiLoH9OgeKije9xmPcx8C
AwEAAaNTMFEwHQYDVR0OBBYEFNw3Cq9MR9hkMcgeZOVfe/oUz0QxMB8GA1UdIwQY
MBaAFNw3Cq9MR9hkMcgeZOVfe/oUz0QxMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZI
hvcNAQELBQADggEBAE+4JuKHedW6MiuIQgp/G8Ydwgj2NZ3WRlhDrnM9UuQ+8jOo
lel638KV0xfnc4Peipx/ppJtfnj9Bx0oeN5x/BG6Xbu3oCGcaLZdYxFVBdvXPMeo
Cov4VP6hY+cFd6E45mNc9UyFmK/44R4DXL2o57zwJQk12lOSfPdPgaD1EaafJGIW
Bqk0hh9H6xVnT/dvx+w01k/RHC4HEPgcm3Foq9WS4iUIBoc41/kef4IzaYoV8LE2
Hcri0u8oFMK7E9zegcT9IXQSNrfMMyMi6wU506HIcstDVc2NVxi3eVDU9ByU+4Gh
jVPwa+yI5T5XcbJ4NVl6i7bze0Bkr02s03SEVJg=
-----END CERTIFICATE-----
`;

/** Its private key, as PKCS #8. */
const PRIVATE_KEY = [
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCcNIBVCC/IUUINHi3Vke3jfIr0ki2JAVIZ2uCCXLssEh+W",
  "CRaGDctSyts2Q6GiU6/ROu5NYgnh05tk7pmVVvhb9f8Rki8eUsrzSe34bJL4hfBORhAfWruhxmU2+Vim5qhNjO3OxUIidsCH",
  "EzoyZgEcVa1eFHWJLXu892CPfTcoV0YVEHwmUZy5ZxGFVnO7GfYVGG2dxXTVJYm6iabPH32zYbcY22Nh4ZPBxL5U9HwH7u6b",
  "49WpbtsLov208sPiMZ1PDI5wqAaIxbUiprGl4CNWGrdpbPRnZjNm42yUj9Tr0dd2kfnX0LKY1h/LdODhxKZJZIi6B/ToHioo",
  "3vcZj3MfAgMBAAECggEANBJQYYg8HYPxB9xynQprifUfgU4lfdGB4/qR8wMkphlYjDR1XLTGfc//6YP8ItfQ+Weyvvsanjxj",
  "Re9AJYd7fXRw1hOsP2iMHTQc7z6Kc+x6Yi16/GjLua8gWIYgpmqn2kpLkC0z0bdSkPS45soYPrDU/VLGp7cQ07qHZu3v8DM6",
  "JO/s9eI7TfhUs0kfG2EfclLvqixth9BvMdpAID6edPRpUcZavlSIdKuPd19SasC5GuVOMmXoezrKOv3VNsU/TvdPI9hw0ThA",
  "wxMb5cuHj/ygL2+PqjUtQ3K4tuiM0YYtm8A3vE1F+E4cx246uG/BdtZbiQbpBM0U86PNXnXP0QKBgQDU3IzvBR3D1OhNtbBi",
  "vjB5cXA7aoKPdskS9C2u6GtYTSWG02+/2ADI9wHMxYJgnaTuECpn814Plv7ActgX9vbOkVXaKvyerHwd2yXxnqo/nlag9mcH",
  "PKQJg84hosQMLCqUPw/v/pxUNjIkKBkfGA8gj2Jt3jtJ3yW8MvbdBmoHJwKBgQC73JAjMNf3H0y1xxLEr+ZNOT4gTkgXJ6mj",
  "PaFNnItcF3IfZTD/IQkCpg+cp05GvzfsU0NMvZlVJonzZDPQz7L2KE3FAOEB00yORrInJXwERpS725uk8NzE9C4A+VnXyyMM",
  "Zsqi+Ke6URwUCkC43OK4JD6Qj1jTKQ2ASmIwqervSQKBgQCkf9kucn7BM41fWLT6ak6d26vHTxWc90iHLEsNq7IhaGVC362x",
  "zaU1qaYrcMvEDLBEBhwvf2VGmQNBCL+1LXcoxipZ0vStT1EP5adaJaseRShfdmzCq/t9Gu43Ekl9urghHucbKmH3tnZjeNWJ",
  "MRenqwd/LsoU2a2Y1q3uu6E+6wKBgHyk1DG1J6W8a640Pnyn5NsZ/uF6bxSF6WT48DxJgKGCoOK5xi+Q4KSUP8mFrEb+eoFf",
  "oUiah9DaeC84LbT/CdOPXEI42hHW+3Vu7KdSlJ1VozudcwCWGzTGenuE9hpamo+Q6CQHbWoOhN27C8RcMkVRLv3FTn8UPvP+",
  "5nU5WDqZAoGAAMAbrcm9xjCU/J//Trqx9qjS4/Q2jhZMX8KI3cgML2TIA+KxC7RSuiFLv9WBU59f1FVjSh7cM4qBHj7F9ulj",
  "4pmEM/3di0TQ22rdmW8eLiyI7FEGPcw99nfwSskdCgUc9gu39Ou7JhQdwXg4qv/yRAFj+Mp142Tg1E7pvX5N2WI=",
].join("");

/** Signs as the owner of {@link certificate}: base64 of RSASSA-PKCS1-v1_5. */
export async function signWithCertificate(
  text: string,
  hash: "SHA-1" | "SHA-256" = "SHA-256",
): Promise<string> {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash };
  const pkcs8 = fromBase64(PRIVATE_KEY) ?? new Uint8Array(0);
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, false, ["sign"]);
  return toBase64(new Uint8Array(await crypto.subtle.sign(algorithm.name, key, utf8(text))));
}

/** A transport that answers from texts by address, and says what it was asked for. */
export interface Publisher extends Transport {
  readonly asked: OutboundRequest[];
  readonly texts: Map<string, string>;
}

/** Makes a publisher; an address without a text is a 404. */
export function publisher(): Publisher {
  const asked: OutboundRequest[] = [];
  const texts = new Map<string, string>();
  return {
    asked,
    texts,
    send(request) {
      asked.push(request);
      const text = texts.get(request.url);
      const body = text === undefined ? null : utf8(text);
      return Promise.resolve({ status: text === undefined ? 404 : 200, headers: [], body });
    },
  };
}

/** Published keys that read nothing. */
export const noPublishedKeys: RemoteKeys = {
  certificate: () => Promise.reject(new Error("A certificate was asked for")),
  jwks: () => () => Promise.reject(new TypeError("No key")),
  lookup: () => () => Promise.reject(new TypeError("No key")),
};
