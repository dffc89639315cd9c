import { describe, expect, it } from 'vitest';
import { LeaseLost } from '../../../lib/records/registration-keys.ts';
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

  describe.each(['finished', 'undecided'] as const)('of a request that is %s', (kind) => {
    const claim = { kind, held, registrationId: 'r-1' };

    it('and another password gets idempotency_key_reused, by the hash that was kept', async () => {
      const fake = fakeRegistration({ claim, keptHash: 'hash of another password' });
      expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('idempotency_key_reused');
      expect(fake.sent).toEqual([]);
    });

    it('and the same password gets the first answer, with the same steps', async () => {
      const [same, other] = ['correct horse battery', 'another password'].map((password) =>
        fakeRegistration({ claim, keptHash: `hash of ${password}` }),
      );
      expect(await same?.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
      await other?.run(registrationRequest({}, KEYED));
      expect(same?.log).toEqual(other?.log);
      expect(same?.steps()).toContain('verify');
    });

    it('whose registration is gone counts as the same, after as much work', async () => {
      const fake = fakeRegistration({ claim });
      expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
      expect(fake.steps()).toContain('get record');
      expect(fake.steps().slice(-2)).toEqual(['verify', 'release counts']);
    });
  });

  it('of a running request, and another password, gets idempotency_key_reused', async () => {
    const claim = { kind: 'in_progress', retryAfterSeconds: 5, registrationId: 'r-1' } as const;
    const other = fakeRegistration({ claim, keptHash: 'hash of another password' });
    expect(typeOf(await other.run(registrationRequest({}, KEYED)))).toBe('idempotency_key_reused');
    const same = fakeRegistration({ claim, keptHash: 'hash of correct horse battery' });
    expect(typeOf(await same.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
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

  it.each([
    ['request_in_progress', { kind: 'in_progress', retryAfterSeconds: 5, registrationId }],
    ['idempotency_key_reused', { kind: 'reused' }],
  ] as const)('that is taken answers %s and does nothing', async (type, claim) => {
    const fake = fakeRegistration({ claim });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe(type);
    expect(fake.sent).toEqual([]);
    expect(fake.released).toEqual(['admit']);
  });

  it('lost to another try before the send answers request_in_progress; its record and counts are undone, its key is not', async () => {
    const fake = fakeRegistration({ failures: { mark: new LeaseLost('lost') } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
    expect(fake.sent).toEqual([]);
    expect(fake.steps().slice(-2)).toEqual(['release counts', 'undo record']);
  });
});
