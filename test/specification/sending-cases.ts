import { expect } from 'vitest';
import { call } from './caller.ts';
import { meets } from './cases.ts';
import { checkProblem } from './checks.ts';
import type { Section } from './walk.ts';

const operation = 'registration' as const;

/** `test/lib/limits` has every limit, and `test/functions/wiring.test.ts` shows that each reaches the function. */
const TO_A_RECIPIENT = meets(
  {
    operation,
    says: 'a second mail within 60 s to the same address in another spelling',
    status: 429,
    type: 'too_many_requests',
  },
  async (world) => {
    await call(world, { operation, body: { email: 'someone@gmail.com' } });
    const again = await call(world, { operation, body: { email: 'S.o.m.e.One+tag@googlemail.com' } });
    checkProblem(again, 429, 'too_many_requests');
    const seconds = Number(again.headers.get('retry-after'));
    expect([seconds >= 1, seconds <= 60]).toEqual([true, true]);
  },
);

export const SENDING_SECTIONS: readonly Section[] = [
  { title: 'Limits of sending, where the specification is silent', cases: [TO_A_RECIPIENT] },
];
