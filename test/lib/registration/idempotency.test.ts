import { describe, expect, it } from 'vitest';
import { LeaseLost } from '../../../lib/records/operations.ts';
import { fakeRegistration, KEYED, registrationRequest, typeOf } from '../../support/registration-fakes.ts';

describe('An Idempotency-Key', () => {
  const operation = { pk: 'key#1', operationId: 'operation-1', nonce: 'nonce', lease: 'lease', revision: 0 };

  it('is claimed for this route and caller, for as long as the function may run, with the body’s fingerprint', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({}, KEYED));
    expect(fake.asked).toMatchObject({ scope: ['registration', '203.0.113.7', 'key-1'], leaseMs: 21_000 });
    expect(fake.asked.fingerprints).toHaveLength(1);
  });

  it('is marked before the send with what an operator needs, and nothing personal', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({}, KEYED));
    expect(fake.kept.mark).toEqual({ registration_id: fake.kept.record?.registration_id });
  });

  it('of a finished request gives the first answer again, and sends nothing', async () => {
    const fake = fakeRegistration({ claim: { kind: 'finished', operation, item: {} } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'drop repeat', 'verify']);
  });

  describe.each(['finished', 'undecided'] as const)('of a request that is %s', (kind) => {
    const item = { details: { registration_id: 'r-1' } };
    const claim = { kind, operation, item };

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
      expect(fake.steps().slice(-2)).toEqual(['get record', 'verify']);
    });
  });

  it('of a request that is under way, and another password, gets idempotency_key_reused', async () => {
    const known = { operation, item: { details: { registration_id: 'r-1' } } };
    const claim = { kind: 'in_progress', retryAfterSeconds: 5, known } as const;
    const other = fakeRegistration({ claim, keptHash: 'hash of another password' });
    expect(typeOf(await other.run(registrationRequest({}, KEYED)))).toBe('idempotency_key_reused');
    const same = fakeRegistration({ claim, keptHash: 'hash of correct horse battery' });
    expect(typeOf(await same.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
  });

  it('is told apart by everything but the passwords', async () => {
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
    const fake = fakeRegistration({ claim: { kind: 'undecided', operation, item: {} } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'drop repeat', 'finish', 'verify']);
  });

  it.each([
    ['request_in_progress', { kind: 'in_progress', retryAfterSeconds: 5 }],
    ['idempotency_key_reused', { kind: 'reused' }],
  ] as const)('that is taken answers %s and does nothing', async (type, claim) => {
    const fake = fakeRegistration({ claim });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe(type);
    expect(fake.sent).toEqual([]);
  });

  it.each([{ kind: 'in_progress', retryAfterSeconds: 5 }, { kind: 'reused' }] as const)(
    'that may be at work elsewhere leaves the place of its source: whichever of the two took it, it is for the one that works: $kind',
    async (claim) => {
      const fake = fakeRegistration({ claim });
      await fake.run(registrationRequest({}, KEYED)).catch(() => {});
      expect(fake.steps().slice(0, 4)).toEqual(['pepper', 'form', 'claim', 'admit']);
      expect(fake.steps()).not.toContain('drop repeat');
    },
  );

  it('lost to another try before the send answers request_in_progress; nothing is sent, and the key is not let go', async () => {
    const fake = fakeRegistration({ failures: { mark: new LeaseLost('lost') } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
    expect(fake.sent).toEqual([]);
    // The places are now those of the other one.
    expect(fake.steps().slice(-1)).toEqual(['undo record']);
    expect(fake.steps()).not.toContain('drop message');
  });
});
