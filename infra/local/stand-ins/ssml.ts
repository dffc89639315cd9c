/** The tags that Amazon Polly's standard voices know. */
const TAGS = new Set(
  'amazon:auto-breaths amazon:breath amazon:effect break emphasis lang mark p phoneme prosody s say-as speak sub w'.split(
    ' ',
  ),
);
const SAY_AS = new Set(
  'address cardinal characters date digits expletive fraction number ordinal spell-out telephone time unit'.split(' '),
);
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const MAX_BREAK_MS = 10_000;

const TOKEN =
  /<(?<end>\/?)(?<tag>[a-z][a-z:-]*)(?<attributes>(?:\s+[\w:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<empty>\/?)>|&(?<entity>amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-fA-F]{1,6});|(?<text>[^<&]+)/y;

/**
 * The spoken text: without tags, pauses as spaces, spelled digits as one number. @returns undefined if Polly would
 * refuse the SSML
 */
export function spokenText(ssml: string): string | undefined {
  const open: { tag: string; digits: boolean }[] = [];
  let spoken = '';
  let roots = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < ssml.length) {
    const token = TOKEN.exec(ssml)?.groups;
    if (token === undefined) return undefined;
    const { tag, attributes = '' } = token;
    if (tag === undefined) {
      const text = token.text ?? character(token.entity ?? '');
      if (text === undefined || (open.length === 0 && text.trim() !== '')) return undefined;
      spoken += open.at(-1)?.digits ? `${START}${text.trim()}${END}` : text;
    } else if (token.end === '/') {
      if (open.pop()?.tag !== tag) return undefined;
      spoken += ' ';
    } else {
      if (!TAGS.has(tag) || !attributesFit(tag, attributes)) return undefined;
      if (open.length === 0) roots += 1;
      if ((tag === 'speak') !== (open.length === 0) || roots > 1) return undefined;
      if (token.empty === '')
        open.push({ tag, digits: /interpret-as\s*=\s*["'](digits|characters)["']/.test(attributes) });
      spoken += ' ';
    }
  }
  if (open.length > 0 || roots !== 1) return undefined;
  return spoken
    .replaceAll(new RegExp(`${END}\\s*${START}`, 'g'), '')
    .replaceAll(new RegExp(`${START}|${END}`, 'g'), ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Marks spelled characters (private use, so in no text). */
const START = '\uE000';
const END = '\uE001';

function attributesFit(tag: string, attributes: string): boolean {
  const value = (name: string) => new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`).exec(attributes)?.[1];
  if (tag === 'say-as') return SAY_AS.has(value('interpret-as') ?? '');
  const pause = tag === 'break' ? value('time') : undefined;
  if (pause === undefined) return true;
  const time = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(pause);
  return time !== null && Number(time[1]) * (time[2] === 's' ? 1_000 : 1) <= MAX_BREAK_MS;
}

function character(entity: string): string | undefined {
  if (!entity.startsWith('#')) return ENTITIES[entity];
  const code = entity.startsWith('#x') ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
