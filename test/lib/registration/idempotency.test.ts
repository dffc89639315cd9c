import { describe, expect, it } from 'vitest';
import type { ProblemType } from '../../../lib/problem.ts';
import { type KeyClaim, LeaseLost } from '../../../lib/records/registration-keys.ts';
import {
  fakeRegistration,
  HELD_KEY,
  KEYED,
  REACHED,
  RECIPIENTS,
  registrationRequest,
  typeOf,
} from '../../support/registration-fakes.ts';

describe('An Idempotency-Key', () => {
  const registrationId = undefined;
  const held = HELD_KEY;

  it('is claimed for this route and caller, for as long as the function may run, with the body’s fingerprint', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({}, KEYED));
    expect(fake.asked).toMatchObject({ scope: ['registration', '203.0.113.7', 'key-1'], leaseMs: 21_000 });
    expect(fake.asked.fingerprints).toHaveLength(1);
  });

  it('has the same caller for every address of one /64', async () => {
    const scopes = await Promise.all(
      ['2001:db8::1', '2001:db8::ffff'].map(async (source) => {
        const fake = fakeRegistration();
        await fake.run({ ...registrationRequest({}, KEYED), source });
        return fake.asked.scope;
      }),
    );
    expect(scopes[0]).toEqual(['registration', '20010db800000000/64', 'key-1']);
    expect(scopes[1]).toEqual(scopes[0]);
  });

  it('is marked before the send with its registration', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({}, KEYED));
    expect(fake.kept.mark).toBe(fake.kept.record?.registration_id);
  });

  it('of a finished request gives the first answer again, and sends nothing', async () => {
    const fake = fakeRegistration({ claim: { kind: 'finished', registrationId } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'count replay', 'verify', 'release counts']);
    // The replay itself stays counted, but is not a request on the dashboard.
    expect(fake.released).toEqual(['admit']);
    expect(fake.events).toEqual([]);
  });

  it('that is replayed too often gets too_many_requests, before the password is compared', async () => {
    const limits = { 'count replay': REACHED };
    const fake = fakeRegistration({ claim: { kind: 'finished', registrationId }, limits });
    expect(await fake.run(registrationRequest({}, KEYED))).toMatchObject({
      type: 'too_many_requests',
      options: { retryAfterSeconds: 41 },
    });
    expect(fake.steps()).not.toContain('verify');
  });

  it('is replayed also by a source that is over its limit, and where replays cannot be counted', async () => {
    const limits = { admit: REACHED, 'count replay': { kind: 'unchecked' } } as const;
    const fake = fakeRegistration({ claim: { kind: 'finished', registrationId }, limits });
    expect(await fake.run(registrationRequest({ recipient: RECIPIENTS.sms }, KEYED))).toEqual({ replayed: true });
  });

  /** The registration that an earlier request with the key has kept. */
  const kept = { registrationId: 'r-1' };
  const running = { kind: 'in_progress', retryAfterSeconds: 5 } as const;
  const DIFFERS = 'hash of another password';
  const SAME = 'hash of correct horse battery';

  it.each<[string, KeyClaim, hash: string | undefined, ProblemType | 'answered']>([
    ['finished, with another password', { kind: 'finished', ...kept }, DIFFERS, 'idempotency_key_reused'],
    ['finished, with the same password', { kind: 'finished', ...kept }, SAME, 'answered'],
    ['finished, whose registration is gone', { kind: 'finished', ...kept }, undefined, 'answered'],
    ['undecided, with another password', { kind: 'undecided', held, ...kept }, DIFFERS, 'idempotency_key_reused'],
    ['undecided, with the same password', { kind: 'undecided', held, ...kept }, SAME, 'answered'],
    ['undecided, whose registration is gone', { kind: 'undecided', held, ...kept }, undefined, 'answered'],
    ['running, with another password', { ...running, ...kept }, DIFFERS, 'idempotency_key_reused'],
    ['running, with the same password', { ...running, ...kept }, SAME, 'request_in_progress'],
    ['running, before its registration is known', { ...running, registrationId }, undefined, 'request_in_progress'],
    ['of another body', { kind: 'reused' }, undefined, 'idempotency_key_reused'],
  ])('of a request that is %s', async (_, claim, keptHash, expected) => {
    const fake = fakeRegistration({ claim, ...(keptHash === undefined ? {} : { keptHash }) });
    const other = fakeRegistration({ claim, keptHash: DIFFERS });
    const answer = await fake.run(registrationRequest({}, KEYED));
    expect(answer).toEqual(expected === 'answered' ? { replayed: true } : expect.objectContaining({ type: expected }));
    expect([fake.sent, fake.released]).toEqual([[], ['admit']]);
    // Only the answer shows which registration was kept.
    await other.run(registrationRequest({}, KEYED));
    expect(fake.log).toEqual(other.log);
  });

  it('distinguishes bodies by everything but the passwords', async () => {
    const fingerprintOf = async (sentBody: Record<string, unknown>) => {
      const fake = fakeRegistration();
      await fake.run(registrationRequest({}, { ...KEYED, sentBody }));
      return fake.asked.fingerprints;
    };
    const body = { email: 'bob@example.com', password: 'one', repeat_password: 'one' };
    const first = await fingerprintOf(body);
    expect(await fingerprintOf({ ...body, password: 'two', repeat_password: 'two' })).toEqual(first);
    expect(await fingerprintOf({ ...body, email: 'eve@example.com' })).not.toEqual(first);
  });

  it('of a request that may have sent is never worked on again, and finished, so that every later retry is answered', async () => {
    const fake = fakeRegistration({ claim: { kind: 'undecided', held, registrationId } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
    expect(fake.steps().slice(4)).toEqual(['count replay', 'finish', 'verify', 'release counts']);
  });

  it('lost to another try before the send answers request_in_progress; its record and counts are undone, its key is not', async () => {
    const fake = fakeRegistration({ failures: { mark: new LeaseLost('lost') } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
    expect(fake.sent).toEqual([]);
    expect(fake.steps().slice(-2)).toEqual(['release counts', 'undo record']);
  });
});
