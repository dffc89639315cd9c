import { createHash } from 'node:crypto';
import { parseSync } from 'oxc-parser';

/** One small change to a file that its tests should notice. */
export interface Mutant {
  path: string;
  /** Counted from 1. */
  line: number;
  /** The line without its indentation. */
  text: string;
  /** The change, such as `< → <=`. */
  change: string;
  start: number;
  end: number;
  replacement: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [member: string]: unknown;
}

type Edit = Pick<Mutant, 'start' | 'end' | 'replacement'>;

const OPERATORS = new Map(
  Object.entries({
    '<': '<=',
    '<=': '<',
    '>': '>=',
    '>=': '>',
    '===': '!==',
    '!==': '===',
    '+': '-',
    '-': '+',
    '*': '/',
    '/': '*',
    '&&': '||',
    '||': '&&',
  }),
);
const METHODS = new Map(
  Object.entries({
    some: 'every',
    every: 'some',
    min: 'max',
    max: 'min',
    startsWith: 'endsWith',
    endsWith: 'startsWith',
  }),
);
/** A string that programs read, not people. */
const CODE_WORD = /^[\w.:#-]+$/;
/** The following has no effect at run time, or is not our code. */
const SKIPPED = /^(TS(?!(AsExpression|SatisfiesExpression|NonNullExpression)$)|Import|ExportAll|TemplateElement)/;

/** Every mutant of a file, in the order of its text. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  const at = (node: Node) => source.slice(node.start, node.end);

  function add({ start, end, replacement }: Edit): void {
    const before = source.slice(0, start);
    const line = before.split('\n').length;
    const text = source.split('\n')[line - 1]?.trim() ?? '';
    const change = `${shortened(source.slice(start, end))} → ${shortened(replacement)}`;
    found.push({ path, line, text, change, start, end, replacement });
  }

  function walk(node: unknown): void {
    if (Array.isArray(node)) for (const one of node) walk(one);
    if (!isNode(node) || SKIPPED.test(node.type)) return;
    for (const edit of editsOf(node, at, source)) add(edit);
    for (const [name, child] of Object.entries(node)) if (!isName(node, name)) walk(child);
  }
  walk(parseSync(path, source).program);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  if (line === '') return 'nothing';
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Names of members are not values. */
function isName(node: Node, member: string): boolean {
  return (member === 'key' || member === 'property') && node.computed !== true;
}

function editsOf(node: Node, at: (node: Node) => string, source: string): Edit[] {
  const replaced = (replacement: string) => [{ start: node.start, end: node.end, replacement }];
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
      return operatorEdits(node, at, source);
    case 'UnaryExpression':
      return node.operator === '!' && isNode(node.argument) ? replaced(at(node.argument)) : [];
    case 'IfStatement':
    case 'ConditionalExpression':
      return isNode(node.test) ? [{ ...node.test, replacement: `!(${at(node.test)})` }] : [];
    case 'Literal':
      return literalEdits(node).flatMap(replaced);
    case 'ExpressionStatement':
      // A directive such as 'use strict' is not changed.
      return 'directive' in node && node.directive != null ? [] : replaced(';');
    case 'ThrowStatement':
      return replaced(';');
    case 'Property':
      return node.kind === 'init' ? [withoutElement(node, source)] : [];
    case 'SpreadElement':
      return [withoutElement(node, source)];
    case 'MemberExpression':
      return methodEdits(node);
    default:
      return [];
  }
}

function operatorEdits(node: Node, at: (node: Node) => string, source: string): Edit[] {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right) || typeof operator !== 'string') return [];
  if (operator === '??') return [{ start: node.start, end: node.end, replacement: at(left) }];
  const other = OPERATORS.get(operator);
  if (other === undefined) return [];
  const start = left.end + source.slice(left.end, right.start).indexOf(operator);
  // `a + 1 || b` and `a && b ?? c` keep their meaning with the operands in brackets.
  if (node.type === 'LogicalExpression') {
    return [{ start: node.start, end: node.end, replacement: `((${at(left)}) ${other} (${at(right)}))` }];
  }
  return [{ start, end: start + operator.length, replacement: other }];
}

function literalEdits({ value }: Node): string[] {
  if (typeof value === 'number') return [String(value + 1)];
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'string' && CODE_WORD.test(value)) return ["''"];
  return [];
}

/** Removes a member or an element, with the comma that follows it. */
function withoutElement({ start, end }: Node, source: string): Edit {
  const comma = /^\s*,/.exec(source.slice(end));
  return { start, end: end + (comma?.[0].length ?? 0), replacement: '' };
}

function methodEdits({ property, computed }: Node): Edit[] {
  if (!isNode(property) || computed === true || typeof property.name !== 'string') return [];
  const other = METHODS.get(property.name);
  return other === undefined ? [] : [{ ...property, replacement: other }];
}

/**
 * A sample that depends on a seed. Each mutant has a rank of its own, so an edit of one line changes the sample of that
 * line alone.
 */
export function sampleOf(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const seen = new Map<string, number>();
  const ranked = mutants.map((mutant) => {
    const identity = `${seed} ${mutant.path} ${mutant.text} ${mutant.change}`;
    const times = (seen.get(identity) ?? 0) + 1;
    seen.set(identity, times);
    return { mutant, rank: createHash('sha256').update(`${identity} ${times}`).digest('hex') };
  });
  return ranked
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

export function applyEdit(source: string, { start, end, replacement }: Edit): string {
  return source.slice(0, start) + replacement + source.slice(end);
}
