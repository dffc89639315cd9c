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
  encode(text: string): Bytes | undefined;
  /**
   * The text as well as it can be carried, in at most `limit` bytes and cut at a character: what has no place in the
   * code page is transliterated, `|` and `=` are replaced by `/` and `-`, controls by a space.
   */
  approximate(text: string, limit: number): Promise<Bytes>;
}

/** The code page of this name (`windows-1252`, `shift_jis`, …); undefined where there is none, or none that holds ASCII as it is. */
export async function codePage(name: string): Promise<CodePage | undefined> {
  const bytesOf = WINDOWS_PAGE.test(name) ? windowsEncoder(name) : await iconvEncoder(name);
  if (bytesOf === undefined || [...ASCII].some((character) => bytesOf(character) !== character)) return undefined;

  /** The bytes of one character, where it has some and all of them are harmless. */
  function carried(character: string): Bytes | undefined {
    const bytes = bytesOf?.(character);
    return bytes === undefined || UNSAFE_BYTE.test(bytes) ? undefined : bytes;
  }

  return {
    encode(text) {
      const bytes = [...text].map(carried);
      return bytes.includes(undefined) ? undefined : bytes.join('');
    },

    async approximate(text, limit) {
      let all = '';
      for (const character of text.normalize('NFC').replaceAll(SPACES, ' ').trim()) {
        const bytes = carried(replaceReserved(character)) ?? (await transliterated(character));
        if (all.length + bytes.length > limit) break;
        all += bytes;
      }
      // Not `trim`: in many code pages the byte 0xA0 is the end of a letter.
      return all.replaceAll(/^ +| +$/g, '');
    },
  };
}

const SPACES = /[\p{Cc}\p{Zl}\p{Zp}\p{Zs}]+/gu;

function replaceReserved(character: string): string {
  if (character === '|') return '/';
  if (character === '=') return '-';
  return character;
}

/** ASCII that reads like the character; empty where there is none. It is made harmless after, not before: ＝ becomes `=`. */
async function transliterated(character: string): Promise<Bytes> {
  const { default: anyAscii } = await import('any-ascii');
  return [...anyAscii(character)]
    .map(replaceReserved)
    .filter((ascii) => !UNSAFE_BYTE.test(ascii))
    .join('');
}

/** The protocol's own words are ASCII: UTF-16, UTF-7, EBCDIC and the like cannot carry it. */
const ASCII = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 0x20 + index));

/** The bytes of a character that has some. */
type Encoder = (character: string) => Bytes | undefined;

/** The pages with one byte for each character that most servers use. Node can read them, and so they can be turned round. */
const WINDOWS_PAGE = /^windows-(?:874|125[0-8])$/;

function windowsEncoder(name: string): Encoder {
  const read = new TextDecoder(name).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  const known = new Map<string, Bytes>();
  for (const [byte, character] of [...read].entries()) {
    // A byte without a meaning is read as a control, or as the character that stands for none.
    if (!/[\x80-\x9f\ufffd]/.test(character)) known.set(character, String.fromCharCode(byte));
  }
  return (character) => known.get(character);
}

async function iconvEncoder(name: string): Promise<Encoder | undefined> {
  // The tables are half a megabyte: loaded by the first command to such a server.
  const { default: iconv } = await import('iconv-lite');
  if (!iconv.encodingExists(name)) return undefined;
  return (character) => {
    const encoded = iconv.encode(character, name);
    return iconv.decode(encoded, name) === character ? encoded.toString('latin1') : undefined;
  };
}
