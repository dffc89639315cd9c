import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { DeliveryFailure, type DeliveryFailureKind } from '../../../lib/messages/message.ts';
import type { ProblemType } from '../../../lib/problem.ts';
import type { Channel } from '../../../lib/validators/otp-types.ts';
import { LimitsWorld, phone } from '../../support/limits.ts';
import {
  DOWN,
  type FakeSettings,
  fakeRegistration,
  KEYED,
  RECIPIENTS,
  registrationRequest,
  typeOf,
} from '../../support/registration-fakes.ts';

/** What a refused request costs its source, over real limits. */

const world = new LimitsWorld();
const SOURCE = '2001:db8:1:2::1';
const CAPTCHA = {
  passed: { kind: 'passed' },
  refused: { kind: 'refused' },
  down: { kind: 'unavailable', reason: 'TimeoutError' },
} as const;

interface Given extends FakeSettings {
  body?: Parameters<typeof registrationRequest>[0];
  captcha?: keyof typeof CAPTCHA;
  source?: string;
}

/** Sends a request through the limits of the world. @returns the type of its answer */
async function ask({ body, captcha, source = SOURCE, ...settings }: Given, table?: Table) {
  const fake = fakeRegistration({ ...settings, realLimits: { limits: world.limits({}, table), pepper: world.pepper } });
  const verify = captcha && { captcha: async () => CAPTCHA[captcha] };
  const answer = await fake.run(registrationRequest(body, { ...KEYED, source, ...verify }));
  return { type: typeOf(answer), sent: fake.sent.length, events: fake.events.map(({ name }) => name) };
}

/** The counters of the request that hold a count. */
async function kept({ body, source = SOURCE }: Given): Promise<string[]> {
  const recipient = body?.recipient ?? RECIPIENTS.email;
  const counters = [...(await world.counters({ source, recipient }))];
  const counts = counters.map(async ([kind, counter]) => {
    const { members = {}, ...item } = await world.item(counter);
    const count = Math.max(...counter.windows.map(([window]) => Number(item[`n_${window}`] ?? 0)));
    return count > 0 || Object.keys(members as object).length > 0 ? [kind] : [];
  });
  return (await Promise.all(counts)).flat().toSorted();
}

const failing = (kind: DeliveryFailureKind): FakeSettings => ({ failures: { send: new DeliveryFailure(kind, 'x') } });
const BY_SMS = { recipient: RECIPIENTS.sms };
const ITS_SOURCE = ['network', 'source'];
const ITS_GUESS = ['network', 'wrong'];

describe('The counts that are kept', () => {
  it.each<[string, Given, ProblemType, string[]]>([
    // Nothing outside was asked.
    ['after an error in a field', { body: { members: { other: 1 } } }, 'validation_failed', []],
    ['for a channel that is not installed', { deployed: { channels: ['sms'] } }, 'otp_type_unavailable', []],
    ['of a key that was used with another body', { claim: { kind: 'reused' } }, 'idempotency_key_reused', []],
    // A guess.
    ['after a wrong form id', { form: undefined }, 'form_not_found', ITS_GUESS],
    ['after a wrong referral code', { body: { referrer_id: 'REFANN01' } }, 'referrer_not_found', ITS_GUESS],
    // The captcha's provider was asked.
    ['after a refused captcha', { captcha: 'refused' }, 'captcha_failed', ITS_SOURCE],
    [
      'after a passed captcha and an error in a field',
      { captcha: 'passed', body: { members: { other: 1 } } },
      'validation_failed',
      ITS_SOURCE,
    ],
    [
      'after a passed captcha and a wrong form id',
      { captcha: 'passed', form: undefined },
      'form_not_found',
      ['network', 'source', 'wrong'],
    ],
    // The message's provider was asked.
    ...(['refused_recipient', 'opted_out', 'blocked_country'] as const).map(
      (kind): [string, Given, ProblemType, string[]] => [
        `after the provider refused the recipient (${kind})`,
        { ...failing(kind), body: BY_SMS },
        'otp_delivery_failed',
        ITS_SOURCE,
      ],
    ),
    // Our failures, and those of providers.
    ...(['retryable', 'misconfigured', 'over_budget', 'refused_message'] as const).map(
      (kind): [string, Given, ProblemType, string[]] => [
        `after a failure of the provider (${kind})`,
        { ...failing(kind), captcha: 'passed' },
        'otp_delivery_failed',
        [],
      ],
    ),
    ['after a captcha that could not be checked', { captcha: 'down', body: BY_SMS }, 'internal_error', []],
    ['after a failure of the database', { failures: { record: DOWN }, captcha: 'passed' }, 'internal_error', []],
  ])('%s', async (_, given, type, counters) => {
    expect((await ask(given)).type).toBe(type);
    expect(await kept(given)).toEqual(counters);
  });

  it('of a message that was sent are all', async () => {
    await ask({ body: BY_SMS });
    expect(await kept({ body: BY_SMS })).toEqual(['channel', 'country', 'network', 'prefix', 'recipient', 'source']);
  });
});

/** The answers to as many requests, one after another. */
async function answersTo(count: number, given: (index: number) => Given) {
  const types: string[] = [];
  for (let index = 0; index < count; index += 1) types.push((await ask(given(index))).type);
  return types;
}

const number = (index: number) => ({ recipient: phone(`+4474001${String(index).padStart(2, '0')}456`) });

describe('A source that makes us ask outside', () => {
  it.each<[string, (index: number) => Given, ProblemType]>([
    [
      'with refused recipients',
      (index) => ({ ...failing('refused_recipient'), body: number(index) }),
      'otp_delivery_failed',
    ],
    ['with made-up captcha tokens', () => ({ captcha: 'refused' }), 'captcha_failed'],
  ])('%s does so five times in ten minutes', async (_, given, type) => {
    const types = await answersTo(60, given);
    expect(types.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => type));
    expect(new Set(types.slice(5))).toEqual(new Set(['too_many_requests']));
  });

  it('with wrong form ids does so thirty times in ten minutes', async () => {
    const types = await answersTo(40, () => ({ form: undefined }));
    expect(types.filter((type) => type === 'form_not_found')).toHaveLength(30);
    expect(types.at(-1)).toBe('too_many_requests');
  });

  it('that is not at fault is never refused: a provider is down for 60 requests', async () => {
    const types = await answersTo(60, () => ({ ...failing('retryable'), captcha: 'passed' }));
    expect(new Set(types)).toEqual(new Set(['otp_delivery_failed']));
  });

  it('from twenty /64 with errors of its own does not lock the rest of its /48', async () => {
    const from = (index: number) => ({ source: `2001:db8:1:${index.toString(16)}::1` });
    const types = await answersTo(25, (index) => ({ ...from(index), body: { members: { other: 1 } } }));
    expect(new Set(types)).toEqual(new Set(['validation_failed']));
    expect((await ask(from(99))).type).toBe('answered');
  });

  it('from twenty /64 of one /48 with refused captchas locks the rest', async () => {
    const from = (index: number): Given => ({ source: `2001:db8:1:${index.toString(16)}::1`, captcha: 'refused' });
    expect((await answersTo(25, from)).slice(20)).toEqual(Array.from({ length: 5 }, () => 'too_many_requests'));
  });
});

describe('If the database throttles writes', () => {
  /** Reads work. */
  const throttled = (): Table => ({
    ...world.database.tables.limits,
    update: () => Promise.reject(new AwsFailure('ProvisionedThroughputExceededException')),
  });

  it.each<[string, (index: number) => Given]>([
    [
      'source',
      (index) => ({ body: { recipient: { channel: 'email', key: `a${index}@x.example`, to: `a${index}@x.example` } } }),
    ],
    ['recipient', (index) => ({ source: `192.0.2.${index}` })],
  ])('a counter that was read as full refuses: %s', async (_, given) => {
    for (let index = 0; index < 5; index += 1) await ask(given(index));
    for (let index = 5; index < 25; index += 1) {
      expect(await ask(given(index), throttled())).toMatchObject({ type: 'too_many_requests', sent: 0 });
    }
  });

  it.each<[Channel, string, number]>([
    ['email', 'answered', 1],
    ['sms', 'internal_error', 0],
    ['call', 'internal_error', 0],
    ['whatsapp', 'internal_error', 0],
  ])('counters with room let a mail pass, and no message to a phone: %s', async (channel, type, sent) => {
    const answer = await ask({ body: { recipient: RECIPIENTS[channel] } }, throttled());
    expect(answer).toMatchObject({ type, sent, events: expect.arrayContaining(['LimitUncheckable']) });
  });
});
