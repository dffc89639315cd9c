/** The shortest text that is searched for: a shorter one would occur everywhere. */
const SHORTEST = 5;

/** The possible encodings of a stored text. */
function writings(text: string): string[] {
  const bytes = Buffer.from(text);
  const html = text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
  const json = JSON.stringify(text).slice(1, -1);
  const again = JSON.stringify(json).slice(1, -1);
  const ascii = json.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return [text, json, again, ascii, html, encodeURIComponent(text), bytes.toString('hex'), ...inBase64(bytes)];
}

/** For each of the three alignments, the characters that depend only on these bytes. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    const ours = [Math.ceil((before * 8) / 6), Math.floor((shifted.byteLength * 8) / 6)] as const;
    return [shifted.toString('base64').slice(...ours), shifted.toString('base64url').slice(...ours)];
  });
}

/**
 * The names of the texts that contain one of the wanted texts. Each text is read once: candidates are looked up by
 * their first characters.
 */
function search(wanted: Iterable<string>, texts: Readonly<Record<string, string>>): string[] {
  const byStart = new Map<string, string[]>();
  for (const one of new Set(wanted)) {
    if (one.length < SHORTEST) continue;
    const start = one.slice(0, SHORTEST);
    const others = byStart.get(start);
    if (others === undefined) byStart.set(start, [one]);
    else others.push(one);
  }
  const found = (text: string) => {
    for (let at = 0; at + SHORTEST <= text.length; at += 1) {
      const begun = byStart.get(text.slice(at, at + SHORTEST));
      if (begun?.some((one) => text.startsWith(one, at))) return true;
    }
    return false;
  };
  return Object.keys(texts).filter((name) => found(texts[name] ?? ''));
}

/** The names of the texts that contain one of these secrets, in any usual encoding. */
export function textsWithSecrets(secrets: Iterable<string>, texts: Readonly<Record<string, string>>): string[] {
  return search([...secrets].flatMap(writings), texts);
}

/** The personal data of a client's record. */
export interface PersonalData {
  name: string;
  email: string;
  phone?: { country_code: string; number: string };
}

/**
 * The data that identify a client: each word of the name, the two parts of the email address, and the national phone
 * number without its zero, with which the international one ends. @throws Error if one of them is too short to search
 * for
 */
export function searchedMarks({ name, email, phone }: PersonalData): string[] {
  const marks = [...name.split(/\s+/), ...email.split('@')];
  if (phone !== undefined) marks.push(phone.number.replace(/\D/g, '').replace(/^0+/, ''));
  const short = marks.filter((mark) => fold(mark).length < SHORTEST);
  if (short.length > 0) throw new Error(`${short.join(' and ')}: too short to be searched for.`);
  return marks;
}

/**
 * The names of the texts that contain one of these marks, in any usual encoding and case, with any characters between
 * its letters and digits: `+44 7400-123456` holds the number 7400123456.
 */
export function textsWithMarks(marks: Iterable<string>, texts: Readonly<Record<string, string>>): string[] {
  const wanted = [...marks].flatMap(writings).map(fold);
  const folded = Object.entries(texts).map(([name, text]) => [name, fold(text.replace(RANDOM_ID, '"'))]);
  return search(wanted, Object.fromEntries(folded) as Record<string, string>);
}

/** Our ids are random: one of many may hold the digits of a phone number. */
const RANDOM_ID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;

/** The text in lower case without accents, with only letters, digits and the separators of JSON. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}"{}[\],:\n]+/gu, '');
}
