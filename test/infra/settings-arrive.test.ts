import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { readSettings, SETTING_NAMES, settingsFile } from '../../infra/settings.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { OTHERS } from '../support/other-settings.ts';
import { EVERYTHING, SENDER, synthesize, synthesizeFresh } from '../support/stack.ts';

/** Of the limits that are counts. */
const OTHER_COUNT = 77;

/** The file next to the code of the functions. */
const fileOf = (settings: Record<string, unknown>) => settingsFile(readSettings({ ...SENDER, ...settings }));
/** Everything that is made of the settings: the template, and that file. */
const textOf = (settings: Record<string, unknown>, template: Template = synthesize(settings)) =>
  JSON.stringify([template.toJSON(), fileOf(settings)]);
const isLimit = (name: string) => name.startsWith('limits.');
const otherOf = (name: string) => OTHERS[name] ?? (isLimit(name) ? OTHER_COUNT : derivedOther(name));
const usualSettings = readSettings({ ...SENDER, ...EVERYTHING });

/** Flags and numbers need no entry in `OTHERS`. */
function derivedOther(name: string): unknown {
  const value = name
    .split('.')
    .reduce<unknown>((group, key) => (isObject(group) ? group[key] : undefined), usualSettings);
  if (typeof value === 'boolean') return !value;
  return typeof value === 'number' ? value + 1 : undefined;
}

/** The form of a setting's second value in a template: a limit with its name. */
function traceOf(name: string): string {
  const value = String(otherOf(name));
  return isLimit(name) ? `${name.slice('limits.'.length)}\\":${value}` : value;
}

const traces = SETTING_NAMES.map(traceOf);
const usual = textOf(EVERYTHING);

/** A value is unique if no other setting has it, the default template lacks it, and it needs no other setting. */
function isUnique(name: string): boolean {
  const trace = traceOf(name);
  const isAlone = traces.filter((one) => one.includes(trace)).length === 1;
  const isOne = ['string', 'number'].includes(typeof otherOf(name));
  return isOne && trace.length > 3 && isAlone && !usual.includes(trace);
}

describe('The settings with unique values, all together', () => {
  const names = SETTING_NAMES.filter(isUnique);
  const others = Object.fromEntries(names.map((name) => [name, otherOf(name)]));
  const settings = { ...EVERYTHING, ...others };
  const text = textOf(settings, synthesizeFresh(settings));

  it.each(names)('%s arrives', (name) => {
    expect(text.includes(traceOf(name))).toBe(true);
  });
});

describe('Each other setting', () => {
  it.each(SETTING_NAMES.filter((name) => !isUnique(name)))('%s arrives', (name) => {
    const given = otherOf(name);
    expect(given, 'needs a second value in OTHERS of test/support/other-settings.ts').toBeDefined();
    const [beside, other] = Array.isArray(given) ? given : [{}, given];
    const settings = { ...EVERYTHING, ...beside };
    const different = { ...settings, ...changed(name, other) };
    // A template takes a hundred times as long as the file.
    const arrives =
      fileOf(different) !== fileOf(settings) || textOf(different, synthesizeFresh(different)) !== textOf(settings);
    expect(arrives).toBe(true);
  });
});

/** Channels cannot go without their groups. */
function changed(name: string, other: unknown): Record<string, unknown> {
  if (name !== 'channels') return { [name]: other };
  const without = { phone: undefined, sms: undefined, call: undefined, whatsapp: undefined };
  return { channels: other, ...without };
}
