import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { AWS_ACCOUNT_ID } from './arn.ts';

/** The action and resource of one call. */
export interface NeededRight {
  action: string;
  /** An ARN, or the phone number of a text. */
  resource: string;
  /** The values of condition keys; some keys have several values. */
  context?: Readonly<Record<string, string | readonly string[]>>;
}

/** A statement of an IAM policy, with its references resolved. */
export interface Statement {
  Sid?: string;
  Effect: string;
  Action: string | string[];
  Resource?: string | string[];
  NotResource?: string | string[];
  Condition?: Readonly<Record<string, Readonly<Record<string, string | string[]>>>>;
}

/** One action of a statement on one of its resources. */
export interface Right {
  /** The right's name, such as `request-registration ReadCrm dynamodb:BatchGetItem arn:…:table/crm`. */
  readonly id: string;
  /** True: an explicit denial, which no allowed action overrides. */
  readonly denies: boolean;
  concerns(need: NeededRight): boolean;
}

/**
 * The rights of a policy, each separately, so that a call shows which of them it needs.
 * @throws Error at a statement that is more than allowed or denied actions, resources, and the conditions below
 */
export function parseRights(principal: string, statements: readonly Statement[]): Right[] {
  return statements.flatMap((statement) => {
    const { Sid = 'Trace', Effect, Action } = statement;
    if (Effect !== 'Allow' && Effect !== 'Deny')
      throw new Error(`${principal} ${Sid}: ${Effect} is not evaluated here.`);
    const denies = Effect === 'Deny';
    const conditions = parseConditions(statement);
    const suffix = conditions
      .map(
        ({ key, values, operator }) =>
          ` if ${key} ${NEGATED.test(operator) ? 'is not' : 'is'} ${values.join(' or ')}${/IfExists$/.test(operator) ? ' or absent' : ''}`,
      )
      .join('');
    return [Action].flat().flatMap((action) => {
      // IAM compares actions in any case.
      const isAction = like(action.toLowerCase());
      return parseScopes(statement).map(({ text, matches }) => ({
        id: `${principal} ${Sid} ${action} ${text}${suffix}`,
        denies,
        concerns: ({ action: wanted, resource, context = {} }: NeededRight) =>
          isAction(wanted.toLowerCase()) &&
          matches(resource) &&
          conditions.every(({ key, values, matches: holds }) => holds(values, context[key])),
      }));
    });
  });
}

/** The rights that allow a call. Empty: the call is denied. One denying right denies the call. */
export function allowingRights(rights: readonly Right[], need: NeededRight): Right[] {
  const concerned = rights.filter((right) => right.concerns(need));
  return concerned.some(({ denies }) => denies) ? [] : concerned;
}

/** The resources of a statement: each by itself, or all resources but some. */
function parseScopes({ Resource = [], NotResource }: Statement) {
  if (NotResource === undefined) return [Resource].flat().map((pattern) => ({ text: pattern, matches: like(pattern) }));
  const excluded = [NotResource].flat();
  const matches = (resource: string) => !excluded.some((pattern) => like(pattern)(resource));
  return [{ text: `other than ${excluded.join(', ')}`, matches }];
}

/** IAM's wildcards: `*` is any text, `?` one character. */
function like(pattern: string): (text: string) => boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, 's');
  return (text) => expression.test(text);
}

type Evaluate = (wanted: readonly string[], value: string | readonly string[] | undefined) => boolean;

const isLike = (patterns: readonly string[], value: string) => patterns.some((pattern) => like(pattern)(value));
const oneValue = (value: Parameters<Evaluate>[1]) => String(value ?? '');
const allValues = (value: Parameters<Evaluate>[1]) => [value ?? []].flat();

/** The operators of conditions that are evaluated. A call may have no value for a condition key. */
const OPERATORS: Readonly<Record<string, Evaluate>> = {
  StringEquals: (wanted, value) => wanted.includes(oneValue(value)),
  StringNotEquals: (wanted, value) => !wanted.includes(oneValue(value)),
  StringEqualsIfExists: (wanted, value) => value === undefined || wanted.includes(oneValue(value)),
  StringLikeIfExists: (patterns, value) => value === undefined || isLike(patterns, oneValue(value)),
  Null: ([wanted], value) => (value === undefined) === (wanted === 'true'),
  // True for a call without any value, as in IAM.
  'ForAllValues:StringLike': (patterns, value) => allValues(value).every((each) => isLike(patterns, each)),
  'ForAllValues:StringEquals': (wanted, value) => allValues(value).every((each) => wanted.includes(each)),
};

const NEGATED = /Not/;

function parseConditions({ Sid, Condition = {} }: Statement) {
  return Object.entries(Condition).flatMap(([operator, keys]) => {
    const matches = OPERATORS[operator];
    if (matches === undefined) throw new Error(`${Sid}: the condition ${operator} is not evaluated here.`);
    return Object.entries(keys).map(([key, values]) => ({ key, values: [values].flat(), operator, matches }));
  });
}

/** Who calls the embedded services. */
export interface Caller {
  readonly name: string;
  /** The rights of the caller. Absent: every right, as an administrator has. */
  readonly rights?: readonly Right[];
}

/** The callers by access key. */
export type Callers = ReadonlyMap<string, Caller>;

/** A unique access key in AWS's format. */
export function newAccessKeyId(): string {
  return `LOCAL${randomBytes(10).toString('hex').toUpperCase()}`;
}

/** A call that was judged. */
export interface ObservedCall {
  caller: string;
  need: NeededRight;
  /** The ids of the rights that allow the call. Empty: it was denied. */
  by: string[];
}

/** One call for each set of rights that allowed a call in this process: the rights that a test run has used. */
export const observedCalls = new Map<string, ObservedCall>();

/** @returns AWS's sentence about the first right that is missing; undefined: the call may be made */
export function findDenial(caller: Caller, needs: readonly NeededRight[]): string | undefined {
  const { name, rights } = caller;
  if (rights === undefined) return undefined;
  for (const need of needs) {
    const by = allowingRights(rights, need).map(({ id }) => id);
    const key = by.length === 0 ? `${name} ${need.action} ${need.resource}` : by.join('\n');
    if (!observedCalls.has(key)) observedCalls.set(key, { caller: name, need, by });
    if (by.length === 0) return sentence(name, need);
  }
  return undefined;
}

function sentence(name: string, { action, resource }: NeededRight): string {
  return (
    `User: arn:aws:sts::${AWS_ACCOUNT_ID}:assumed-role/${name}/${name} is not authorized to perform: ${action} ` +
    `on resource: ${resource} because no identity-based policy allows the ${action} action`
  );
}

const running = new AsyncLocalStorage<string>();

/**
 * Runs work as the caller of this name, such as a function. Lambda gives each function an environment of its own; here
 * all callers share one process, so its credentials depend on the caller that asks for them.
 */
export function runAsCaller<T>(name: string, work: () => T): T {
  return running.run(name, work);
}

/** The name of the caller whose work this is; undefined: the administrator. */
export function runningCaller(): string | undefined {
  return running.getStore();
}
