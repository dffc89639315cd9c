import { parseSync } from 'oxc-parser';

interface Size {
  /** Such as `lib/registration/registration.ts requestRegistration`. */
  of: string;
  lines: number;
}

interface Node {
  type: string;
  start: number;
  end: number;
}

/** What these are given is a list of tests, however long. */
const LISTS = /^(describe|describe\.\w+|describe\.each)$/;
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/**
 * The functions of a file by their lines: those of a function within another one count for the inner one alone, and what
 * `describe` is given does not count.
 */
export function functionSizes(path: string, source: string): Size[] {
  const starts = lineStarts(source);
  const lineOf = (offset: number) => starts.findLastIndex((start) => start <= offset);
  const sizes: Size[] = [];
  const lists = new Set<unknown>();

  /** @returns how many lines the functions below this node take, where it is none itself */
  function walk(node: unknown, name: string): number {
    if (Array.isArray(node)) return node.reduce((sum: number, one) => sum + walk(one, name), 0);
    if (!isNode(node)) return 0;
    for (const one of listsOf(node, source)) lists.add(one);
    const named = nameOf(node) ?? name;
    let within = 0;
    for (const child of Object.values(node)) within += walk(child, named);
    if (!FUNCTIONS.has(node.type)) return within;
    const lines = lineOf(node.end - 1) - lineOf(node.start) + 1;
    if (!lists.has(node)) sizes.push({ of: `${path} ${named}`, lines: lines - within });
    // What begins and ends on lines of its surroundings takes none of them away.
    return Math.max(0, lines - 2);
  }
  walk(parseSync(path, source).program, 'the file');
  return sizes;
}

function lineStarts(source: string): number[] {
  const starts = [0];
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** What a declaration, a member or a variable calls the function in it. */
function nameOf(node: object): string | undefined {
  const named = 'id' in node ? node.id : 'key' in node ? node.key : undefined;
  return typeof named === 'object' && named !== null && 'name' in named ? String(named.name) : undefined;
}

/** The functions that a call of `describe` is given. */
function listsOf(node: Node, source: string): unknown[] {
  if (node.type !== 'CallExpression' || !('callee' in node) || !isNode(node.callee)) return [];
  const { callee } = node;
  const called = source.slice(callee.start, callee.end).split('(')[0] ?? '';
  return LISTS.test(called) && 'arguments' in node && Array.isArray(node.arguments) ? node.arguments : [];
}
