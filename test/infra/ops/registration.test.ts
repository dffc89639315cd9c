import { beforeEach, describe, expect, it } from 'vitest';
import { findCode } from '../../../infra/local/outbox.ts';
import { postJson, register, suppressAddress } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';

const operators = new Operators();
const PHONE = { country_code: '44', number: '7400123488' };
let serial = 0;
let email = '';
beforeEach(() => {
  serial += 1;
  email = `Ask${serial}@example.com`;
});

const TIME = String.raw`2\d{3}-\d\d-\d\dT[\d:.]+Z`;

describe('npm run ops -- registration', () => {
  it('shows the request and its email, the delivery, and the limit that holds the next message', async () => {
    expect((await register(operators.service, { email })).status).toBe(204);
    const { code, out } = await operators.local('registration', email.toUpperCase());
    expect(code).toBe(0);
    const lines = [
      `^1 registration of ${email.toLowerCase()} in the last 25 hours\\.`,
      `^${TIME} by email, registration [0-9a-f-]{36}`,
      '^  message: the code, accepted by the provider, id [0-9a-f-]{36}',
      `^  delivery: send ${TIME}, delivery ${TIME}`,
      `^  code: valid until ${TIME}, 0 of 5 guesses made`,
      '^  confirmed: no',
      '^Suppression list of SES: not on it\\.',
      `^Next message by email: held by limits\\.resendSeconds until ${TIME}\\.`,
    ];
    for (const line of lines) expect(out).toMatch(new RegExp(`${line}$`, 'm'));
  });

  it('shows guesses at the code, and the confirmation', async () => {
    await register(operators.service, { email });
    const [message] = operators.service.outbox.list().filter(({ to }) => to === email);
    const code = message && findCode(message);
    for (const tried of [code === '000000' ? '000001' : '000000', code]) {
      const body = { otp_type: 'email', email, code: tried, password: 'correct horse battery' };
      await postJson(operators.service, '/public/v1/account/register/confirm', body);
    }
    const { out } = await operators.local('registration', email);
    expect(out).toMatch(new RegExp(`, 2 of 5 guesses made\n  confirmed: ${TIME}$`, 'm'));
  });

  it('shows that SES delivers nothing to a suppressed address, however it is spelled, and removes it from the list', async () => {
    await suppressAddress(email);
    await register(operators.service, { email });
    const sent = () => operators.service.outbox.list().filter(({ to }) => to === email).length;
    expect(sent()).toBe(0);
    const typed = email.toLowerCase();
    const shown = await operators.local('registration', typed);
    expect(shown.out).toContain('bounce');
    expect(shown.out).toContain('OnAccountSuppressionList');
    expect(shown.out).toMatch(
      new RegExp(`${email}, BOUNCE since ${TIME}\\. SES accepts emails to it and delivers none`),
    );
    expect((await operators.local('registration', typed, '--unsuppress')).out).toContain(
      'It was removed from the list.',
    );
    expect((await operators.local('registration', typed)).out).toContain('Suppression list of SES: not on it.');
  });

  it('shows that the owner of an address got a notice instead of a code', async () => {
    await register(operators.service, { email: 'juan@example.com' });
    const { out } = await operators.local('registration', 'juan@example.com');
    expect(out).toContain("message: the owner's notice without a code: the address is a client's, accepted");
    expect(out).not.toContain('  code:');
    expect(out).toContain('The client CLIENT02 has this address: it gets a notice without a code.\n');
  });

  it('finds the registrations of a number by every phone channel, and asks SES nothing', async () => {
    for (const otp_type of ['sms', 'whatsapp']) await register(operators.service, { email, otp_type, phone: PHONE });
    const { out } = await operators.local('registration', '+44 7400 123488');
    expect(out).toMatch(/^2 registrations of \+447400123488 .*by whatsapp.*by sms/s);
    expect(out).toMatch(/Next message by sms: held .*Next message by call: no limit/s);
    expect(out).not.toMatch(/SES|delivery:/);
  });

  it('shows a person without data', async () => {
    const { code, out } = await operators.local('registration', email);
    expect(out).toMatch(/^0 registrations of .*Next message by email: no limit of its recipient holds it\.\n$/s);
    expect(code).toBe(0);
  });
});
