import type * as v from 'valibot';
import { listViolations } from '../../lib/validators/primitives.ts';

/** One error of a CRM file: its place, such as `clients[3].email`, and the rule it breaks. Never a value. */
export interface RecordError {
  path: string;
  rule: string;
}

export class CrmFileError extends Error {
  override readonly name = 'CrmFileError';
  readonly errors: readonly RecordError[];

  constructor(errors: readonly RecordError[]) {
    super(errors.map(({ path, rule }) => (path === '' ? rule : `${path}: ${rule}`)).join('\n'));
    this.errors = errors;
  }
}

/** The path of an issue, below `base`. */
export function issuePath(base: string, issue: v.BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce((path, { key }) => member(path, key), base);
}

/** The path of a member: `clients[3].email`, `local_secrets["platform/x"]`. */
export function member(path: string, key: unknown): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_]\w*$/.test(String(key))) return `${path}[${JSON.stringify(String(key))}]`;
  return path === '' ? String(key) : `${path}.${String(key)}`;
}

/** Our description of the rule: the library's messages quote the value. */
export function describeRule(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not known';
  return listViolations([issue])[0]?.detail ?? 'is not valid';
}
