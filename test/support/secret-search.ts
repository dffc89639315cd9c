/** How a text may look where it is kept. */
function writings(text: string): string[] {
  const bytes = Buffer.from(text);
  const html = text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
  const json = JSON.stringify(text).slice(1, -1);
  const encoded = [bytes.toString('base64'), bytes.toString('base64url')].map((base64) => base64.replace(/=+$/, ''));
  const again = JSON.stringify(json).slice(1, -1);
  return [...new Set([text, json, again, html, encodeURIComponent(text), bytes.toString('hex'), ...encoded])];
}

/** The names of the texts in which one of these secrets stands, in any usual writing of it. */
export function placesOf(secrets: Iterable<string>, texts: Readonly<Record<string, string>>): string[] {
  const wanted = [...secrets].flatMap(writings);
  return Object.keys(texts).filter((name) => wanted.some((writing) => texts[name]?.includes(writing)));
}
