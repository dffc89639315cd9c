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
  it('shows the requests of an address, and whether one is confirmed', async () => {
    expect((await register(operators.service, { email })).status).toBe(204);
    const { code, out } = await operators.local('registration', email.toUpperCase());
    expect(code).toBe(0);
    const lines = [
      `^1 registration of ${email.toLowerCase()}\\.`,
      `^${TIME} by email, registration [0-9a-f-]{36}`,
      `^  code: valid until ${TIME}, 0 of 5 guesses made`,
      '^  confirmed: no',
      '^Suppression list of SES: not on it\\.',
    ];
    for (const line of lines) expect(out).toMatch(new RegExp(`${line}$`, 'm'));
  });

  it('shows the one registration of an address that it has proven', async () => {
    const { headers } = await register(operators.service, { email });
    const [mail] = operators.service.outbox.list().slice(-1);
    const body = { registration_id: headers.get('registration-id'), code: mail && findCode(mail) };
    expect((await postJson(operators.service, '/public/v1/account/register/confirm', body)).status).toBe(204);
    const { code, out } = await operators.local('registration', email);
    expect(code).toBe(0);
    expect(out).toMatch(/^1 registration of .*confirmed: 2/s);
  });

  it('shows that SES delivers nothing to a suppressed address, however it is spelled, and removes it from the list', async () => {
    await suppressAddress(email);
    await register(operators.service, { email });
    const typed = email.toLowerCase();
    const shown = await operators.local('registration', typed);
    expect(shown.out).toMatch(
      new RegExp(`${email}, BOUNCE since ${TIME}\\. SES accepts emails to it and delivers none`),
    );
    expect((await operators.local('registration', typed, '--unsuppress')).out).toContain(
      'It was removed from the list.',
    );
    expect((await operators.local('registration', typed)).out).toContain('Suppression list of SES: not on it.');
  });

  it('names the client who has proven the address', async () => {
    const { out } = await operators.local('registration', 'juan@example.com');
    expect(out).toContain('The client CLIENT02 has this address: a confirmation is answered with already_registered.');
  });

  it('finds the registrations of a number by every phone channel, and asks SES nothing', async () => {
    for (const otp_type of ['sms', 'whatsapp']) await register(operators.service, { email, otp_type, phone: PHONE });
    const { out } = await operators.local('registration', '+44 7400 123488');
    expect(out).toMatch(/^2 registrations of \+447400123488.* by whatsapp.* by sms/s);
    expect(out).not.toContain('SES');
  });
});
