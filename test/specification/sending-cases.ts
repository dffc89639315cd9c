import { expect } from 'vitest';
import { type Answer, call, newPhone, newSource } from './caller.ts';
import { type Case, decided, meets } from './cases.ts';
import { checkProblem } from './checks.ts';
import { CLIENT } from './records.ts';
import { PHONE_CHANNELS } from './table.ts';
import type { Section } from './walk.ts';

const operation = 'registration' as const;

export function limited(says: string, run: Case['run']): Case {
  return meets({ operation, says, status: 429, type: 'too_many_requests' }, run);
}

export function checkLimited(answer: Answer, least: number, most: number): void {
  checkProblem(answer, 429, 'too_many_requests');
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(seconds).toBeLessThanOrEqual(most);
}

const SAME_ADDRESS = ['someone@gmail.com', 'SomeOne@Gmail.com', 'someone+tag@gmail.com', 's.o.m.e.one@googlemail.com'];

const TO_A_RECIPIENT: readonly Case[] = [
  ...SAME_ADDRESS.map((again) =>
    limited(`a second mail to someone@gmail.com within 60 s, written as ${again},`, async (world) => {
      await call(world, { operation, body: { email: 'someone@gmail.com' } });
      checkLimited(await call(world, { operation, body: { email: again } }), 1, 60);
    }),
  ),
  ...PHONE_CHANNELS.map((otp_type) =>
    limited(`a second message by ${otp_type} within 60 s`, async (world) => {
      const phone = newPhone();
      await call(world, { operation, body: { otp_type, phone } });
      const written = { country_code: '+44', number: `0${phone.number}` };
      checkLimited(await call(world, { operation, body: { otp_type, phone: written } }), 1, 60);
    }),
  ),
];

const NOT_LIMITED: readonly Case[] = [
  decided('a request that is not well-formed counts for nothing', async (world) => {
    const source = newSource();
    for (let n = 0; n < 6; n += 1) await call(world, { operation, body: { name: '' } }, { source });
    expect((await call(world, { operation }, { source })).status).toBe(204);
  }),
  decided("a client's address is answered as any other, and its owner gets a notice without a code", async (world) => {
    world.service.outbox.clear();
    const known = await call(world, { operation, body: { email: CLIENT.email.toUpperCase() } });
    const [notice] = world.service.outbox.list();
    expect(notice?.text).toContain('already');
    expect(notice?.text).not.toMatch(/\d{6}/);
    const unknown = await call(world, { operation });
    const shown = ({ status, headers, text }: Answer) => ({ status, names: [...headers.keys()], text });
    expect(shown(known)).toEqual(shown(unknown));
  }),
];

export const SENDING_SECTIONS: readonly Section[] = [
  { title: 'Limits of sending, where the specification is silent', cases: [...TO_A_RECIPIENT, ...NOT_LIMITED] },
];
