import { describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../../infra/local/faults.ts';
import { startCaptcha } from '../../../../infra/local/stand-ins/captcha.ts';

async function captcha() {
  const settings = { provider: 'turnstile', secret: 'local/captcha' } as const;
  const standIn = await startCaptcha({ faults: new Faults(), secret: 'the-secret-key', settings });
  onTestFinished(() => standIn.close());
  const ask = async (form: Record<string, string>) => {
    const answer = await fetch(standIn.siteverify, { method: 'POST', body: new URLSearchParams(form) });
    return (await answer.json()) as Record<string, unknown>;
  };
  return { standIn, ask };
}

describe('The stand-in of a captcha’s provider', () => {
  it('accepts a token once', async () => {
    const { standIn, ask } = await captcha();
    const form = { secret: 'the-secret-key', response: standIn.solve() };
    expect(await ask(form)).toMatchObject({ success: true, challenge_ts: expect.stringMatching(/Z$/) });
    expect(await ask(form)).toEqual({ success: false, 'error-codes': ['timeout-or-duplicate'] });
  });

  it.each([
    [{ response: 'x' }, 'missing-input-secret'],
    [{ secret: 'another', response: 'x' }, 'invalid-input-secret'],
    [{ secret: 'the-secret-key' }, 'missing-input-response'],
    [{ secret: 'the-secret-key', response: 'x' }, 'invalid-input-response'],
  ])('answers %j with %s', async (form, code) => {
    const { ask } = await captcha();
    expect(await ask(form)).toEqual({ success: false, 'error-codes': [code] });
  });
});
