import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { deploymentEntries } from '../../infra/setting-groups.ts';
import { SETTING_ROWS, type SettingName, settingsPage } from '../../infra/setting-rows.ts';
import { readSettings, SETTING_NAMES, SETTINGS_METADATA } from '../../infra/settings.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { EVERYTHING, SENDER, synthesize, synthesizeFresh } from '../support/stack.ts';

const NAMES = SETTING_NAMES as readonly SettingName[];

describe('The rows of the settings', () => {
  it('are exactly the settings of the schemas', () => {
    expect(Object.keys(SETTING_ROWS).sort()).toEqual([...NAMES].sort());
  });

  it('have words for an absent setting only if its schema has no default', () => {
    const page = settingsPage();
    const given = Object.entries(SETTING_ROWS).filter(([, { absent }]) => absent !== undefined);
    expect(given.length).toBeGreaterThan(10);
    expect(given.filter(([name, { absent }]) => !page.includes(`| \`${name}\` | ${absent} |`))).toEqual([]);
  });
});

/** Without the metadata, which has every setting. */
const textOf = (template: Template) =>
  JSON.stringify(template.toJSON(), (member, value) => (member === SETTINGS_METADATA ? undefined : value));
const usualSettings = readSettings({ ...SENDER, ...EVERYTHING });
const usual = textOf(synthesize(EVERYTHING));

function otherOf(name: SettingName): unknown {
  const value = name
    .split('.')
    .reduce<unknown>((group, key) => (isObject(group) ? group[key] : undefined), usualSettings);
  const derived = typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : undefined;
  return SETTING_ROWS[name].other ?? derived;
}

/** `test/functions/wiring.test.ts` shows the settings that reach a function. */
const OF_THE_STACK = NAMES.filter((name) => !Object.hasOwn(deploymentEntries, name.split('.', 1)[0] ?? ''));
const traceOf = (name: SettingName) => String(otherOf(name));
const traces = OF_THE_STACK.map(traceOf);

/** A value is unique if no other setting has it, the usual template lacks it, and it needs no other setting. */
function isUnique(name: SettingName): boolean {
  const trace = traceOf(name);
  const isAlone = traces.filter((one) => one.includes(trace)).length === 1;
  return SETTING_ROWS[name].beside === undefined && trace.length > 3 && isAlone && !usual.includes(trace);
}

describe('The settings of the stack alone, with unique values all together', () => {
  const names = OF_THE_STACK.filter(isUnique);
  const others = Object.fromEntries(names.map((name) => [name, otherOf(name)]));
  const text = textOf(synthesizeFresh({ ...EVERYTHING, ...others }));

  it.each(names)('%s arrives in the template', (name) => {
    expect(text).toContain(traceOf(name));
  });
});

describe('Each other setting of the stack alone', () => {
  it.each(OF_THE_STACK.filter((name) => !isUnique(name)))('%s changes the template', (name) => {
    const other = otherOf(name);
    expect(other, 'needs a second value: `other` in infra/setting-rows.ts').toBeDefined();
    const settings = { ...EVERYTHING, ...SETTING_ROWS[name].beside };
    expect(textOf(synthesizeFresh({ ...settings, [name]: other }))).not.toBe(textOf(synthesize(settings)));
  });
});
