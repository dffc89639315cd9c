import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { AwsFailure } from '../../lib/aws/failure.ts';
import { allowedFields, describeError, type EventFields } from '../../lib/telemetry.ts';

describe('A log line', () => {
  it('is taken from an allow-list of fields', () => {
    const fields = { request_id: 'r-1', status: 204, password: 'hunter2', email: 'ann@example.com' } as EventFields;
    expect(allowedFields(fields)).toEqual({ request_id: 'r-1', status: 204 });
  });

  it('is every field of the list', () => {
    const word = 'r-1';
    const every: Required<EventFields> = {
      ...{ request_id: word, operation_id: word, registration_id: word, connection_id: word, user_id: word },
      ...{ message_id: word, route: word, type: word, reason: word, channel: word, version: word, notice: word },
      ...{ item: word, kind: word, step: word, status: 1, login: 2 },
      ...{ oldest_due_seconds: 4, stack: ['at a'] },
    };
    expect(allowedFields(every)).toEqual(every);
  });

  it('takes only values of the type of their field', () => {
    const fields = { status: '204', login: Number.NaN, route: 7, stack: 'a' } as unknown as EventFields;
    expect(allowedFields(fields)).toEqual({ login: Number.NaN });
  });

  it('withholds a value that is not a plain identifier', () => {
    expect(allowedFields({ reason: 'ann@example.com' })).toEqual({ reason: 'withheld' });
    expect(allowedFields({ reason: 'a\nb' })).toEqual({ reason: 'withheld' });
    expect(allowedFields({ reason: 'x'.repeat(201) })).toEqual({ reason: 'withheld' });
  });

  it('has the name and stack of an error, never its message', () => {
    const error = new TypeError('the password hunter2 is wrong');
    const text = JSON.stringify(describeError(error));
    expect(text).not.toContain('hunter2');
    expect(text).toContain('TypeError');
    expect(text).toContain('telemetry.test.ts');
  });

  it('quotes nothing of an error message whose lines look like a stack', () => {
    const { stack } = describeError(new Error('refused:\n    at ann@example.com\n    at $&'));
    expect(JSON.stringify(stack)).not.toContain('ann@example.com');
    expect(stack?.[0]).toContain('telemetry.test.ts');
  });

  it('names the key of an item that cannot be read', () => {
    const error = AwsFailure.ofItem('OperationMalformed', 'operation#1');
    expect(describeError(error)).toMatchObject({ reason: 'OperationMalformed', item: 'operation#1' });
  });

  it('has only the type of a thrown value that is not an error', () => {
    expect(describeError('hunter2')).toEqual({ reason: 'string' });
  });

  it('prefers the reason that an error of ours gives', () => {
    class Failure extends Error {
      readonly reason = 'ThrottlingException';
    }
    expect(describeError(new Failure('hunter2')).reason).toBe('ThrottlingException');
  });
});

describe('The metrics', () => {
  it('count each event of an alarm or of the dashboard by one set of dimensions, in the log line of the event', () => {
    const url = new URL('../../lib/telemetry.ts', import.meta.url).href;
    const script = `
      const { telemetry } = await import(${JSON.stringify(url)});
      const { event } = telemetry('a-function', 'a-stage').with({ request_id: 'r-1' });
      event('OtpSent', { channel: 'sms' });
      event('RequestRefused');
      event('OperationsDue', { oldest_due_seconds: 42.5 });
    `;
    const written = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
    });
    const lines = written
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const metric = (name: string, dimensions: string[][]) => ({
      Timestamp: expect.any(Number),
      CloudWatchMetrics: [{ Namespace: 'BrokerApi', Dimensions: dimensions, Metrics: [{ Name: name, Unit: 'Count' }] }],
    });
    const common = { level: 'INFO', service: 'a-function', stage: 'a-stage', request_id: 'r-1' };
    const byChannel = [['service', 'stage', 'channel']];
    expect(lines).toMatchObject([
      {
        ...common,
        message: 'OtpSent',
        channel: 'sms',
        OtpSent: 1,
        _aws: metric('OtpSent', byChannel),
      },
      { ...common, message: 'RequestRefused', RequestRefused: 1 },
      {
        ...common,
        oldest_due_seconds: 42.5,
        _aws: {
          CloudWatchMetrics: [{ Dimensions: [['stage']], Metrics: [{ Name: 'oldest_due_seconds', Unit: 'Seconds' }] }],
        },
      },
    ]);
    expect(lines[1]).not.toHaveProperty('_aws');
  });
});
