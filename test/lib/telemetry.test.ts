import { describe, expect, it } from 'vitest';
import { allowed, describeError, type EventFields } from '../../lib/telemetry.ts';

describe('What is logged', () => {
  it('is taken from an allow-list of fields', () => {
    const fields = { request_id: 'r-1', status: 204, password: 'hunter2', email: 'ann@example.com' } as EventFields;
    expect(allowed(fields)).toEqual({ request_id: 'r-1', status: 204 });
  });

  it('is withheld where it does not look like a plain word', () => {
    expect(allowed({ reason: 'ann@example.com' })).toEqual({ reason: 'withheld' });
    expect(allowed({ reason: 'a\nb' })).toEqual({ reason: 'withheld' });
    expect(allowed({ reason: 'x'.repeat(201) })).toEqual({ reason: 'withheld' });
  });

  it('tells of an error its name and its places, never its message', () => {
    const error = new TypeError('the password hunter2 is wrong');
    const text = JSON.stringify(describeError(error));
    expect(text).not.toContain('hunter2');
    expect(text).toContain('TypeError');
    expect(text).toContain('telemetry.test.ts');
  });

  it('tells of a thrown value that is no error only its kind', () => {
    expect(describeError('hunter2')).toEqual({ reason: 'string' });
  });

  it('prefers the reason that an error of ours gives', () => {
    class Failure extends Error {
      readonly reason = 'ThrottlingException';
    }
    expect(describeError(new Failure('hunter2')).reason).toBe('ThrottlingException');
  });
});
