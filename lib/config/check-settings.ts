import * as v from 'valibot';

/**
 * Checks settings. All errors are listed, as `name: must …`. They hold no value, which may be the name of a secret.
 */
export function checkSettings<const S extends v.GenericSchema>(
  schema: S,
  given: unknown,
): { values: v.InferOutput<S> | undefined; errors: string[] } {
  const result = v.safeParse(schema, given);
  const errors = new Set<string>();
  for (const issue of result.issues ?? []) {
    const name = (issue.path ?? []).map(({ key }) => String(key)).join('.');
    // All elements of a list count as one error, under the list's name.
    errors.add(`${name.replace(/(\.\d+)+$/, '')}: ${explain(issue)}`);
  }
  return { values: result.success ? result.output : undefined, errors: [...errors] };
}

function explain(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is no setting';
  if (issue.kind === 'schema' && issue.input === undefined) return 'is required';
  if (issue.type === 'strict_object') return 'must be a group of settings, in JSON';
  // Valibot's own messages quote the value.
  if (issue.message.startsWith('Invalid')) return 'is of the wrong kind';
  // The messages for an email address come from the rules of requests: a word, a colon and a sentence.
  return issue.message.replace(/^\w+: /, '');
}
