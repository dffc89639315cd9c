import { expect, it } from 'vitest';
import { NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { SHORT_TIMEOUTS, scriptedTcpServer, textPlatform } from '../../../support/text-protocol.ts';

const MARK = {
  operationId: '6f1d8a52-5c1c-4f0e-9d3e-000000000009',
  login: 500_000,
  generated: { role: 'master', password: 'Master77' },
} as const;

it('a silent gateway is not asked the questions that its connection lists in `lacks`', async () => {
  const silent = await scriptedTcpServer(() => {});
  const look = (lacks?: ('account_check' | 'password_check')[]) =>
    textPlatform('interface-gateway', silent.port, { ...SHORT_TIMEOUTS, ...(lacks && { lacks }) }).look(
      MARK,
      NEVER_ABORTED,
    );
  expect(await outcomeOf(look())).toBe('platform_unavailable no_answer');
  expect(silent.received).toHaveLength(1);
  expect(await outcomeOf(look(['account_check']))).toBe('platform_unavailable no_answer');
  expect(silent.received).toHaveLength(2);
  expect(await look(['account_check', 'password_check'])).toBe('silent');
  expect(silent.received).toHaveLength(2);
});
