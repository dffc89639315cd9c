/** Bytes, one in each character (latin1), so that the text of a command can be put together and searched as a string. */
export type Bytes = string;

/** Bytes that have a meaning in the protocol, or that no value may hold: controls, `=`, `|`, DEL. */
const UNSAFE_BYTE = /[\x00-\x1f=|\x7f]/;

/**
 * How text becomes bytes of a server's code page. Nothing that comes out holds a byte which the protocol could take for
 * its own: it is the bytes that are looked at, for the second byte of a character of Shift-JIS, GBK or Big5 may be 0x7C, `|`.
 */
export interface CodePage {
  /** The text itself; undefined where a character of it has no place in the code page or cannot be carried. */
  exactly(text: string): Bytes | undefined;
  /**
   * The text as well as it can be carried, in at most `limit` bytes and cut at a character: what has no place in the
   * code page is transliterated, `|` and `=` are replaced by `/` and `-`, controls by a space.
   */
  nearly(text: string, limit: number): Promise<Bytes>;
}

/** The code page of this name (`windows-1252`, `shift_jis`, …); undefined where there is none, or none that holds ASCII as it is. */
export async function codePage(name: string): Promise<CodePage | undefined> {
  // The tables are half a megabyte: loaded by the first command, not by the cold start.
  const { default: iconv } = await import('iconv-lite');
  if (!iconv.encodingExists(name) || !keepsAscii((text) => iconv.encode(text, name))) return undefined;

  /** What `carried` found of ASCII, which is most of every command. */
  const known = new Map<string, Bytes | undefined>();

  /** The bytes of one character, where it has some and all of them are harmless. */
  function carried(character: string): Bytes | undefined {
    if (known.has(character)) return known.get(character);
    const encoded = iconv.encode(character, name);
    const bytes = encoded.toString('latin1');
    const safe = UNSAFE_BYTE.test(bytes) || iconv.decode(encoded, name) !== character ? undefined : bytes;
    if (character < '\x80') known.set(character, safe);
    return safe;
  }

  return {
    exactly(text) {
      const bytes = [...text].map(carried);
      return bytes.includes(undefined) ? undefined : bytes.join('');
    },

    async nearly(text, limit) {
      let all = '';
      for (const character of text.normalize('NFC').replaceAll(SPACES, ' ').trim()) {
        const bytes = carried(tame(character)) ?? (await transliterated(character));
        if (all.length + bytes.length > limit) break;
        all += bytes;
      }
      // Not `trim`: in many code pages the byte 0xA0 is the end of a letter.
      return all.replaceAll(/^ +| +$/g, '');
    },
  };
}

const SPACES = /[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]+/gu;

function tame(character: string): string {
  if (character === '|') return '/';
  if (character === '=') return '-';
  return character;
}

/** ASCII that reads like the character; empty where there is none. It is made harmless after, not before: ＝ becomes `=`. */
async function transliterated(character: string): Promise<Bytes> {
  const { default: anyAscii } = await import('any-ascii');
  return [...anyAscii(character)]
    .map(tame)
    .filter((ascii) => !UNSAFE_BYTE.test(ascii))
    .join('');
}

/** The protocol's own words are ASCII: UTF-16, UTF-7, EBCDIC and the like cannot carry it. */
function keepsAscii(encode: (text: string) => Buffer): boolean {
  const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 0x20 + index));
  return encode(ascii).toString('latin1') === ascii;
}
