import { expect } from 'vitest';
import { type Answer, call, newPhone, newSource } from './caller.ts';
import { type Case, decided, meets } from './cases.ts';
import { checkProblem } from './checks.ts';
import { CLIENT } from './records.ts';
import type { Section } from './walk.ts';

const operation = 'registration' as const;

function limited(says: string, run: Case['run']): Case {
  return meets({ operation, says, status: 429, type: 'too_many_requests' }, run);
}

function checkLimited(answer: Answer, least: number, most: number): void {
  checkProblem(answer, 429, 'too_many_requests');
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(seconds).toBeLessThanOrEqual(most);
}

/** `test/lib/limits` has every limit, and `test/functions/wiring.test.ts` shows that each reaches the function. */
const TO_A_RECIPIENT: readonly Case[] = [
  limited('a second mail within 60 s to the same address in another spelling', async (world) => {
    await call(world, { operation, body: { email: 'someone@gmail.com' } });
    const again = await call(world, { operation, body: { email: 'S.o.m.e.One+tag@googlemail.com' } });
    checkLimited(again, 1, 60);
  }),
  limited('a second text within 60 s to the same number in another spelling', async (world) => {
    const phone = newPhone();
    await call(world, { operation, body: { otp_type: 'sms', phone } });
    const written = { country_code: '+44', number: `0${phone.number}` };
    checkLimited(await call(world, { operation, body: { otp_type: 'sms', phone: written } }), 1, 60);
  }),
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
