import * as v from 'valibot';

/** The types of settings. Their messages describe the valid values and never quote the given one. */

export function patternText(pattern: RegExp, must: string) {
  return v.pipe(v.string(must), v.regex(pattern, must));
}

/** A whole number within bounds. */
export function wholeNumber(least: number, most: number) {
  const must = `must be a whole number from ${least} to ${most}`;
  return v.pipe(v.number(must), v.integer(must), v.minValue(least, must), v.maxValue(most, must));
}

/** US dollars as a text such as `0.25`, as the AWS services expect them. */
export const dollarAmount = patternText(
  /^(?=.*[1-9])\d{1,6}(\.\d{1,5})?$/,
  'must be an amount in US dollars such as 0.25',
);

export const E164_NUMBER = /^\+[1-9]\d{6,14}$/;
export const HOST_NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
export const HOST_NAME_MUST = 'must be a domain in lower case, such as acme.example';

/** A number within bounds. */
export function numberBetween(least: number, most: number) {
  const must = `must be a number from ${least} to ${most}`;
  return v.pipe(v.number(must), v.minValue(least, must), v.maxValue(most, must));
}

export const flag = v.boolean('must be true or false');

export function listOf<const S extends v.GenericSchema>(item: S) {
  return v.array(item, 'must be a list, or a text with commas');
}

/** The word `none`, or a value. */
export function noneOr<const S extends v.GenericSchema>(value: S, must: string) {
  return v.union([v.literal('none'), value], must);
}

/** The address of a system of the broker. `infra/settings.ts` has stricter rules: the local service has receivers of its own. */
export const receiverAddress = patternText(/^\S+$/, 'must be an address');
