import { expect, it } from 'vitest';
import { SETTING_NAMES } from '../../infra/settings.ts';
import { EVERYTHING, OTHERS, synthesize } from '../support/stack.ts';

/** Of the limits that are counts. */
const OTHER_COUNT = 77;

const templateOf = (settings: Record<string, unknown>) => JSON.stringify(synthesize(settings).toJSON());

it.each(SETTING_NAMES)('The setting %s arrives in the template', (name) => {
  const given = OTHERS[name] ?? (name.startsWith('limits.') ? OTHER_COUNT : undefined);
  const [beside, other] = Array.isArray(given) ? given : [{}, given];
  const settings = { ...EVERYTHING, ...beside };
  expect(templateOf({ ...settings, ...changed(name, other) })).not.toBe(templateOf(settings));
});

/** Channels cannot go without their groups. */
function changed(name: string, other: unknown): Record<string, unknown> {
  if (name !== 'channels') return { [name]: other };
  const without = { phone: undefined, sms: undefined, call: undefined, whatsapp: undefined };
  return { channels: other, ...without };
}
