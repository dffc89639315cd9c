import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { parseSigningSecret, signWebhook } from '../../../lib/secrets/webhook-signature.ts';

const KEYS = ['current', 'previous'].map((name) => `whsec_${Buffer.from(name.padEnd(32, '.')).toString('base64')}`);
const [current = '', previous = ''] = KEYS;
const BODY = '{"name":"Zoë"}';

describe('A signed request', () => {
  it.each(KEYS)('is accepted by a receiver that knows either key', (key) => {
    const headers = signWebhook([current, previous], { id: 'event-1', body: BODY, now: Date.now() });
    expect(new Webhook(key).verify(BODY, headers)).toEqual({ name: 'Zoë' });
  });

  it.each([
    ['another body', { body: '{}' }],
    ['another id', { headers: { 'webhook-id': 'event-2' } }],
    ['another time', { headers: { 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) - 60) } }],
    ['another key', { key: previous }],
  ])('is refused with %s', (_, { body = BODY, headers = {}, key = current }: Forged) => {
    const signed = signWebhook([current], { id: 'event-1', body: BODY, now: Date.now() });
    expect(() => new Webhook(key).verify(body, { ...signed, ...headers })).toThrow('No matching signature found');
  });

  it('is signed as the specification of Standard Webhooks shows', () => {
    const keys = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] as const;
    const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', now: 1_614_265_330_000 };
    expect(signWebhook(keys, signed)['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });
});

interface Forged {
  body?: string;
  headers?: Record<string, string>;
  key?: string;
}

describe('The secret for signing', () => {
  it('holds one key or two', () => {
    expect(parseSigningSecret(JSON.stringify({ current }))).toEqual([current]);
    expect(parseSigningSecret(JSON.stringify({ current, previous }))).toEqual([current, previous]);
  });

  it.each([
    '',
    current,
    '{}',
    JSON.stringify({ previous }),
    JSON.stringify({ current: current.replace('whsec_', '') }),
    JSON.stringify({ current: 'whsec_c2hvcnQ=' }),
    JSON.stringify({ current: `${current}=` }),
    JSON.stringify({ current, previous: '' }),
  ])('is refused as %j, without being quoted', (text) => {
    expect(() => parseSigningSecret(text)).toThrow(
      'A secret for signing must be {"current": "whsec_…", "previous": "whsec_…"}.',
    );
  });
});
