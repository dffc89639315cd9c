/**
 * A path with its query. A backslash escapes `=`, `|`, linefeed and itself; before any other character it is literal.
 */
export function buildPath(path: string, values: Record<string, string | number>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(escaped(String(value)))}`);
  return `${path}?${pairs.join('&')}`;
}

function escaped(value: string): string {
  return value.replace(/\\(?=[\\=|\n])|[=|\n]/g, '\\$&');
}
