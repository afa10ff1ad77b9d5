const written: readonly (readonly [charset: string, text: string, base64: string])[] = [
  [
    "gb18030",
    "退款政策：客户收到商品后三十天内可以申请退款。",
    "zcu/7tX+st+jur/Nu6fK1bW9yczGt7rzyP3KrszsxNq/ydLUyerH683Lv+6how==",
  ],
  [
    "big5",
    "退貨政策：顧客收到商品後三十天內可以申請退款。",
    "sGizZqxGtaahR8VVq8imrKjssNOrfqvhpFSkUaTRpLqlaaVIpdO90LBotNqhQw==",
  ],
  [
    "euc-kr",
    "환불 정책: 고객은 상품을 받은 후 삼십 일 이내에 환불을 신청할 수 있습니다.",
    "yK+60iDBpMOlOiCw7bC0wLogu/PHsMC7ILnewLogyMQgu++9yiDAzyDAzLO7v6EgyK+60sC7IL3Fw7vH0iC89iDA1r3AtM+02S4=",
  ],
  [
    "shift_jis",
    "返品規定：商品の到着後三十日以内に返金を申請できます。",
    "ldSVaYtLkuiBRo+klWmCzJOekoWM445Pj1yT+ojIk+CCyZXUi+CC8JBckL+CxYKrgtyCt4FC",
  ],
  [
    "euc-jp",
    "返品規定：商品の到着後三十日以内に返金を申請できます。",
    "ytbJyrWsxOqhp76mycqkzsX+w+W45buwvb3G/LDKxuKky8rWtuKk8r+9wMGkx6StpN6kuaGj",
  ],
  [
    "iso-2022-jp",
    "返品規定：商品の到着後三十日以内に返金を申請できます。",
    "GyRCSlZJSjUsRGohJz4mSUokTkV+Q2U4ZTswPT1GfDBKRmIkS0pWNmIkcj89QEEkRyQtJF4kOSEjGyhC",
  ],
  [
    "windows-1251",
    "Политика возврата: покупатель может вернуть товар в течение тридцати дней.",
    "z+7r6PLo6uAg4u7n4vDg8uA6IO/u6vPv4PLl6/wg7O7m5fIg4uXw7fPy/CDy7uLg8CDiIPLl9+Xt6OUg8vDo5Pbg8ugg5O3l6S4=",
  ],
  [
    "koi8-r",
    "Политика возврата: покупатель может вернуть товар в течение тридцати дней.",
    "8M/MydTJy8Eg18/a19LB1ME6INDPy9XQwdTFzNggzc/WxdQg18XSztXU2CDUz9fB0iDXINTF3sXOycUg1NLJxMPB1MkgxM7Fyi4=",
  ],
  [
    "windows-1250",
    "Zasady zwrotów: klient może zwrócić towar w ciągu trzydziestu dni. Później przyjmujemy zażalenia.",
    "WmFzYWR5IHp3cm9083c6IGtsaWVudCBtb79lIHp3cvNjaeYgdG93YXIgdyBjablndSB0cnp5ZHppZXN0dSBkbmkuIFDzn25pZWogcHJ6eWptdWplbXkgemG/YWxlbmlhLg==",
  ],
  [
    "iso-8859-2",
    "Zasady zwrotów: klient może zwrócić towar w ciągu trzydziestu dni. Później przyjmujemy zażalenia.",
    "WmFzYWR5IHp3cm9083c6IGtsaWVudCBtb79lIHp3cvNjaeYgdG93YXIgdyBjabFndSB0cnp5ZHppZXN0dSBkbmkuIFDzvG5pZWogcHJ6eWptdWplbXkgemG/YWxlbmlhLg==",
  ],
  [
    "windows-1252",
    "Rückgabe: Kunden können die Ware innerhalb von dreißig Tagen zurückschicken – kostenlos.",
    "Uvxja2dhYmU6IEt1bmRlbiBr9m5uZW4gZGllIFdhcmUgaW5uZXJoYWxiIHZvbiBkcmVp32lnIFRhZ2VuIHp1cvxja3NjaGlja2VuIJYga29zdGVubG9zLg==",
  ],
  [
    "windows-1253",
    "Πολιτική επιστροφών: ο πελάτης μπορεί να επιστρέψει το προϊόν εντός τριάντα ημερών.",
    "0O/r6fTp6t4g5fDp8/Tx7/b+7Tog7yDw5evc9OfyIOzw7/Hl3yDt4SDl8Onz9PHd+OXpIPTvIPDx7/r87SDl7fT88iD08enc7fThIOfs5fH+7S4=",
  ],
  [
    "windows-1254",
    "İade şartları: müşteri ürünü otuz gün içinde geri gönderebilir. Teşekkür ederiz.",
    "3WFkZSD+YXJ0bGFy/Togbfz+dGVyaSD8cvxu/CBvdHV6IGf8biBp52luZGUgZ2VyaSBn9m5kZXJlYmlsaXIuIFRl/mVra/xyIGVkZXJpei4=",
  ],
  [
    "windows-1255",
    "מדיניות החזרות: הלקוח יכול להחזיר את המוצר בתוך שלושים יום.",
    "7uPp8Onl+iDk5+b45fo6IOTs9+XnIOnr5ewg7OTn5un4IOD6IOTu5fb4IOH65eog+ezl+entIOnl7S4=",
  ],
  [
    "windows-1256",
    "سياسة الإرجاع: يمكن للعميل إرجاع المنتج خلال ثلاثين يوما من استلامه.",
    "0+3H08kgx+HF0czH2jog7ePf5CDh4drj7eEgxdHMx9ogx+Hj5MrMIM7hx+Egy+HHy+3kIO3m48cg4+Qgx9PK4cfj5S4=",
  ],
  [
    "windows-1257",
    "Grąžinimo taisyklės: pirkėjas gali grąžinti prekę per trisdešimt dienų.",
    "R3Lg/mluaW1vIHRhaXN5a2zrczogcGlya+tqYXMgZ2FsaSBncuD+aW50aSBwcmVr5iBwZXIgdHJpc2Rl8GltdCBkaWVu+C4=",
  ],
  [
    "windows-874",
    "นโยบายการคืนสินค้า ลูกค้าสามารถคืนสินค้าได้ภายในสามสิบวัน",
    "ueLCutLCodLDpNe5ytS5pOnSIMXZoaTp0srSwdLDtqTXucrUuaTp0uS06cDSwuO5ytLBytS6x9G5",
  ],
  [
    "utf-16le",
    "Refund policy: customers may return the goods within thirty days.",
    "UgBlAGYAdQBuAGQAIABwAG8AbABpAGMAeQA6ACAAYwB1AHMAdABvAG0AZQByAHMAIABtAGEAeQAgAHIAZQB0AHUAcgBuACAAdABoAGUAIABnAG8AbwBkAHMAIAB3AGkAdABoAGkAbgAgAHQAaABpAHIAdAB5ACAAZABhAHkAcwAuAA==",
  ],
];

/** Texts without a mark in charsets that are still met, as iconv wrote them. */
export const charsetTexts: readonly {
  readonly charset: string;
  readonly text: string;
  readonly bytes: Uint8Array;
}[] = written.map(([charset, text, base64]) => ({
  charset,
  text,
  bytes: Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0)),
}));

/** The text of one of them. */
export function charsetText(wanted: string): { readonly text: string; readonly bytes: Uint8Array } {
  const found = charsetTexts.find(({ charset }) => charset === wanted);
  if (found === undefined) throw new Error(`There is no text of ${wanted}`);
  return found;
}
