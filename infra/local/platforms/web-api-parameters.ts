import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Parameters } from './web-api-accounts.ts';

/** Names in a query whose names in JSON are not just capitalised. */
const JSON_NAMES: Record<string, string> = {
  pass_main: 'PassMain',
  pass_investor: 'PassInvestor',
  zipcode: 'ZIPCode',
  id: 'ID',
};

/**
 * Reads a command: its path, and its parameters by their names in JSON. A flat JSON body overrides the query; its keys
 * are case-sensitive, its values may be numbers. Other bodies are ignored.
 */
export async function readParameters(
  request: IncomingMessage,
): Promise<{ path: string; query: URLSearchParams; parameters: Parameters }> {
  const [path = '', search = ''] = (request.url ?? '').split('?', 2);
  // A plus sign does not mean a space.
  const query = new URLSearchParams(search.replaceAll('+', '%2B'));
  const parameters: Parameters = {};
  for (const [name, value] of query) {
    // A backslash before `=`, `|`, linefeed or itself goes away; before anything else it stays.
    const unescaped = value.replace(/\\([\\=|\n])/g, '$1');
    parameters[JSON_NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1)] = unescaped;
  }
  return { path, query, parameters: { ...parameters, ...flat(await text(request)) } };
}

function flat(body: string): Parameters {
  let content: unknown;
  try {
    content = JSON.parse(body);
  } catch {
    return {};
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return {};
  return Object.fromEntries(
    Object.entries(content).flatMap(([name, value]) =>
      value === null ? [] : [[name, typeof value === 'string' ? value : JSON.stringify(value)]],
    ),
  );
}
