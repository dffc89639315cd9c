import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { parseSigningSecret, webhookHeaders } from '../../../lib/secrets/webhook-signature.ts';

const KEYS = ['current', 'previous'].map((name) => `whsec_${Buffer.from(name.padEnd(32, '.')).toString('base64')}`);
const [current = '', previous = ''] = KEYS;
const BODY = '{"name":"Zoë"}';

describe('A signed request', () => {
  it.each(KEYS)('is accepted by a receiver that knows either key', (key) => {
    const headers = webhookHeaders([current, previous], { id: 'event-1', body: BODY, now: Date.now() });
    expect(new Webhook(key).verify(BODY, headers)).toEqual({ name: 'Zoë' });
  });

  it.each([
    ['another body', { body: '{}' }],
    ['another id', { headers: { 'webhook-id': 'event-2' } }],
    ['another time', { headers: { 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 60) } }],
    ['another key', { key: previous }],
  ])('is refused with %s', (_, { body = BODY, headers = {}, key = current }: Forged) => {
    const signed = webhookHeaders([current], { id: 'event-1', body: BODY, now: Date.now() });
    expect(() => new Webhook(key).verify(body, { ...signed, ...headers })).toThrow('No matching signature found');
  });

  it('is signed as the specification of Standard Webhooks shows', () => {
    const keys = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] as const;
    const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', now: 1_614_265_330_000 };
    expect(webhookHeaders(keys, signed)['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });
});

interface Forged {
  body?: string;
  headers?: Record<string, string>;
  key?: string;
}

describe('The secret for signing', () => {
  it('holds one signing key or two', () => {
    expect(parseSigningSecret(JSON.stringify({ current }))).toEqual([current]);
    expect(parseSigningSecret(JSON.stringify({ current, previous }))).toEqual([current, previous]);
  });

  it.each([
    ['', 'json', 'must be JSON'],
    [current, 'json', 'must be JSON'],
    ['null', 'json', 'must be JSON'],
    ['{}', 'missing', 'member current of a secret for signing must be a text'],
    [JSON.stringify({ previous }), 'missing', 'member current'],
    [JSON.stringify({ current, previous: null }), 'missing', 'member previous'],
    [JSON.stringify({ current: `${current}\n` }), 'white_space', 'must have no white space'],
    [JSON.stringify({ current: current.replace('whsec_', '') }), 'prefix', 'must begin with whsec_'],
    [JSON.stringify({ current: current.replace('whsec_', 'WHSEC_') }), 'prefix', 'must begin with whsec_'],
    [JSON.stringify({ current: 'whsec_' }), 'short', 'must have at least 24 bytes'],
    [JSON.stringify({ current: 'whsec_c2hvcnQ=' }), 'short', 'must have at least 24 bytes'],
    [JSON.stringify({ current: `whsec_${'-_'.repeat(22)}` }), 'alphabet', 'no - or _'],
    [JSON.stringify({ current: 'whsec_a=bc'.padEnd(46, 'x') }), 'alphabet', 'must be base64'],
    [JSON.stringify({ current: current.replace(/=+$/, '') }), 'padding', 'must have the padding of base64'],
    [JSON.stringify({ current: `${current}=` }), 'padding', 'must have the padding of base64'],
    [JSON.stringify({ current, previous: '' }), 'prefix', 'member previous'],
  ])('is refused as %j, and the error says what is wrong without quoting it', (text, reason, sentence) => {
    const error = thrownBy(() => parseSigningSecret(text));
    expect(error).toMatchObject({ name: 'SigningSecretMalformed', reason: `signing_secret_${reason}` });
    expect(error).toHaveProperty('message', expect.stringContaining(sentence));
    for (const key of KEYS) expect(String(error)).not.toContain(key.slice(6, 14));
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
