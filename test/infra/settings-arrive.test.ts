import type { Template } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { SETTING_NAMES } from '../../infra/settings.ts';
import { EVERYTHING, OTHERS, synthesize, synthesizeAnew } from '../support/stack.ts';

/** Of the limits that are counts. */
const OTHER_COUNT = 77;

const textOf = (template: Template) => JSON.stringify(template.toJSON());

it.each(SETTING_NAMES)('The setting %s arrives in the template', (name) => {
  const given = OTHERS[name] ?? (name.startsWith('limits.') ? OTHER_COUNT : undefined);
  expect(given, 'needs a second value in OTHERS of test/support/stack.ts').toBeDefined();
  const [beside, other] = Array.isArray(given) ? given : [{}, given];
  const settings = { ...EVERYTHING, ...beside };
  const template = synthesizeAnew({ ...settings, ...changed(name, other) });
  expect(textOf(template)).not.toBe(textOf(synthesize(settings)));
});

/** Channels cannot go without their groups. */
function changed(name: string, other: unknown): Record<string, unknown> {
  if (name !== 'channels') return { [name]: other };
  const without = { phone: undefined, sms: undefined, call: undefined, whatsapp: undefined };
  return { channels: other, ...without };
}
