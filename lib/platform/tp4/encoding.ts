import { once } from '../../once.ts';

/** Bytes, one in each character (latin1), so that a command can be built and searched as a string. */
export type Bytes = string;

/** Bytes with a meaning in the protocol, or forbidden in values: controls, `=`, `|`, DEL. */
const UNSAFE_BYTE = /[\x00-\x1f=|\x7f]/;

/**
 * Encodes text in a server's code page. The result never contains a protocol byte. The check is on bytes: the second
 * byte of a Shift-JIS, GBK or Big5 character may be 0x7C, `|`.
 */
export interface CodePage {
  /** The exact text; undefined if a character is not in the code page or not transmittable. */
  encode(text: string): Bytes | undefined;
  /**
   * The closest text in at most `limit` bytes, cut at a grapheme. Emoji outside the code page are dropped, other
   * characters transliterated; `|` and `=` become `/` and `-`, controls become a space.
   */
  approximate(text: string, limit: number): Promise<Bytes>;
}

/** The code page of this name (`windows-1252`, `shift_jis`, …); undefined if it is unknown or changes ASCII. */
export async function codePage(name: string): Promise<CodePage | undefined> {
  const bytesOf = WINDOWS_PAGE.test(name) ? windowsEncoder(name) : await iconvEncoder(name);
  if (bytesOf === undefined || [...ASCII].some((character) => bytesOf(character) !== character)) return undefined;

  /** The bytes of one character; undefined if it has none or they are unsafe. */
  function carried(character: string): Bytes | undefined {
    const bytes = bytesOf?.(character);
    return bytes === undefined || UNSAFE_BYTE.test(bytes) ? undefined : bytes;
  }

  function encode(text: string): Bytes | undefined {
    const bytes = [...text].map(carried);
    return bytes.includes(undefined) ? undefined : bytes.join('');
  }

  /** The bytes that resemble a grapheme; none for an emoji that the page lacks. */
  async function closest(grapheme: string): Promise<Bytes> {
    const whole = encode(grapheme) ?? encode(grapheme.replaceAll(PRESENTATION, ''));
    if (whole !== undefined) return whole;
    if (EMOJI.test(grapheme)) return '';
    let bytes = '';
    for (const character of grapheme) {
      bytes += carried(replaceReserved(character)) ?? (await transliterated(character));
    }
    return bytes;
  }

  return {
    encode,

    async approximate(text, limit) {
      let encoded = '';
      for (const grapheme of graphemes(text.normalize('NFC').replaceAll(SPACES, ' ').trim())) {
        const bytes = await closest(grapheme);
        if (encoded.length + bytes.length > limit) break;
        // A dropped emoji leaves the spaces around it.
        if (bytes !== ' ' || !encoded.endsWith(' ')) encoded += bytes;
      }
      // Not `trim`: in many code pages the byte 0xA0 is the end of a letter.
      return encoded.replaceAll(/^ +| +$/g, '');
    },
  };
}

/** Each of these characters is a grapheme. */
const LATIN = /^[\x20-\xff]*$/;
/**
 * Graphemes are the same in every language. Making the segmenter takes a twentieth of a cold start, and most names are
 * Latin.
 */
const segmenter = once(() => new Intl.Segmenter('en', { granularity: 'grapheme' }));

function graphemes(text: string): Iterable<string> {
  return LATIN.test(text) ? text : Array.from(segmenter().segment(text), ({ segment }) => segment);
}

/** Graphemes that begin with a pictograph, half a flag or a skin tone, and keycaps. */
const EMOJI = /^(?:\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}|[\d#*]\ufe0f?\u20e3)/u;
/** Marks that ask for the text or the emoji form of a symbol that has both. */
const PRESENTATION = /[\ufe0e\ufe0f]/g;
const SPACES = /[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]+/gu;

function replaceReserved(character: string): string {
  if (character === '|') return '/';
  if (character === '=') return '-';
  return character;
}

/** ASCII that resembles the character; may be empty. The result is checked afterwards, because ＝ becomes `=`. */
async function transliterated(character: string): Promise<Bytes> {
  const { default: anyAscii } = await import('any-ascii');
  return [...anyAscii(character)]
    .map(replaceReserved)
    .filter((ascii) => !UNSAFE_BYTE.test(ascii))
    .join('');
}

/** The protocol is ASCII. UTF-16, UTF-7, EBCDIC and others are not supersets of it. */
const ASCII = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 0x20 + index));

/** Encodes one character. */
type Encoder = (character: string) => Bytes | undefined;

/** Common single-byte pages. Node decodes them, so the table can be inverted. */
const WINDOWS_PAGE = /^windows-(?:874|125[0-8])$/;

function windowsEncoder(name: string): Encoder {
  const read = new TextDecoder(name).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  const known = new Map<string, Bytes>();
  for (const [byte, character] of [...read].entries()) {
    // An unassigned byte is decoded to a control or to the replacement character.
    if (!/[\x80-\x9f\ufffd]/.test(character)) known.set(character, String.fromCharCode(byte));
  }
  return (character) => known.get(character);
}

async function iconvEncoder(name: string): Promise<Encoder | undefined> {
  // The tables are half a megabyte, so the first command to such a server loads them.
  const { default: iconv } = await import('iconv-lite');
  if (!iconv.encodingExists(name)) return undefined;
  return (character) => {
    const encoded = iconv.encode(character, name);
    return iconv.decode(encoded, name) === character ? encoded.toString('latin1') : undefined;
  };
}
