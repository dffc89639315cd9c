/** The basic character set of GSM 03.38 (3GPP TS 23.038, 6.2.1), without the escape. */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** Its extension table (6.2.1.1): each stands for two characters, the escape and its own. */
const EXTENSION = new Set('\f^{}\\[~]|€');

/** How many 7-bit characters a text takes, or `undefined` when it has a character that is not in GSM 03.38. */
export function gsm7Length(text: string): number | undefined {
  let length = 0;
  for (const character of text) {
    if (BASIC.has(character)) length += 1;
    else if (EXTENSION.has(character)) length += 2;
    else return undefined;
  }
  return length;
}

/** How many parts a text is sent, and billed, in: of 160 (then 153) 7-bit characters, or else of 70 (then 67) UTF-16 units. */
export function smsParts(text: string): number {
  const septets = gsm7Length(text);
  const [length, alone, joined] = septets === undefined ? [text.length, 70, 67] : [septets, 160, 153];
  return length <= alone ? 1 : Math.ceil(length / joined);
}
