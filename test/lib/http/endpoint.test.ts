import * as v from 'valibot';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { endpoint } from '../../../lib/http/endpoint.ts';
import { Problem } from '../../../lib/problem.ts';
import { closedObject, openObject, wholeNumber } from '../../../lib/validators/primitives.ts';
import { answerTo, gatewayEvent, recordingEndpoint } from '../../support/endpoint.ts';
import { recordingTelemetry } from '../../support/openings.ts';

describe('The body of a request', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/vnd.api+json',
    'application/merge-patch+json;v=1',
  ])('may be of the type %j', async (type) => {
    const { handler, requests } = recordingEndpoint();
    expect(await answerTo(handler, gatewayEvent('{"a":1}', type))).toMatchObject({ statusCode: 204 });
    expect(requests).toMatchObject([{ sentBody: { a: 1 } }]);
  });

  it('may come in base64, as the gateway passes on other types than application/json', async () => {
    const { handler, requests } = recordingEndpoint();
    const body = Buffer.from('{"a":"Zoë"}').toString('base64');
    expect(await answerTo(handler, gatewayEvent(body, 'application/vnd.api+json', true))).toMatchObject({
      statusCode: 204,
    });
    expect(requests).toMatchObject([{ sentBody: { a: 'Zoë' } }]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'application/jsonx', 'json', ''])(
    'of the type %j gets unsupported_media_type',
    async (type) => {
      const { handler } = recordingEndpoint();
      const answer = await answerTo(handler, gatewayEvent('{"a":1}', type));
      expect(answer).toMatchObject({ statusCode: 415, problem: { type: 'unsupported_media_type', status: 415 } });
    },
  );

  it('that is not JSON gets malformed_json, which is logged', async () => {
    const { handler, events } = recordingEndpoint();
    const answer = await answerTo(handler, gatewayEvent('{'));
    expect(answer).toMatchObject({ statusCode: 400, problem: { type: 'malformed_json' } });
    expect(events).toEqual([
      {
        name: 'RequestRefused',
        fields: { request_id: 'r1', route: 'POST /things', status: 400, type: 'malformed_json' },
      },
    ]);
  });

  it.each([
    ['otp_delivery_failed', 'DependencyFailed'],
    ['platform_unavailable', 'DependencyFailed'],
    ['too_many_requests', 'RequestRefused'],
    ['internal_error', 'InternalError'],
  ] as const)('is counted as our failure or the caller’s, by its answer: %s is %s', async (type, name) => {
    const { handler, events } = recordingEndpoint(undefined, undefined, new Problem(type));
    await answerTo(handler, gatewayEvent('{}'));
    expect(events).toMatchObject([{ name, fields: { type } }]);
  });

  it.each([
    ['{"a":"x"}', '1 field needs attention.'],
    ['{"a":0.5}', '1 field needs attention.'],
    ['{"a":"x","b":"x"}', '2 fields need attention.'],
  ])('that breaks rules gets the number of fields: %s', async (body, detail) => {
    const number = v.exactOptional(wholeNumber(1));
    const { handler } = recordingEndpoint(closedObject({ a: number, b: number }));
    expect(await answerTo(handler, gatewayEvent(body))).toMatchObject({ statusCode: 400, problem: { detail } });
  });

  it('over its limit gets payload_too_large', async () => {
    const { handler } = recordingEndpoint();
    const body = JSON.stringify({ a: 'x'.repeat(1_000) });
    expect(await answerTo(handler, gatewayEvent(body))).toMatchObject({
      statusCode: 413,
      problem: { type: 'payload_too_large' },
    });
    const encoded = Buffer.from(body).toString('base64');
    expect(await answerTo(handler, gatewayEvent(encoded, 'application/json', true))).toMatchObject({ statusCode: 413 });
  });

  it('over its bounds never reaches its rules', async () => {
    let looks = 0;
    const schema = v.pipe(
      openObject({}),
      v.check(() => {
        looks += 1;
        return true;
      }),
    );
    const { handler } = recordingEndpoint(schema, 6_000_000);
    for (const [body, pointer] of [
      [`{"a":[${'0,'.repeat(1_000_000)}0]}`, '#'],
      [`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, '#/a'],
    ]) {
      const { problem } = await answerTo(handler, gatewayEvent(body));
      expect(problem).toMatchObject({ type: 'validation_failed', errors: [{ pointer }] });
    }
    expect(looks).toBe(0);
    expect(await answerTo(handler, gatewayEvent('{"a":[0]}'))).toMatchObject({ statusCode: 204 });
    expect(looks).toBe(1);
  });

  it.each(['prototype', 'toString'])('with a member %s is judged by its rules like any other', async (name) => {
    const { handler } = recordingEndpoint(closedObject({}));
    const answer = await answerTo(handler, gatewayEvent(`{"${name}":{"prototype":{"admin":true}}}`));
    expect(answer.problem).toMatchObject({
      type: 'validation_failed',
      errors: [{ pointer: `#/${name}`, rule: 'unknown_field' }],
    });
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });
});

describe('The captcha of a request', () => {
  function asking() {
    const { telemetry } = recordingEndpoint();
    const asked: string[] = [];
    const outcomes: unknown[] = [];
    const handler = endpoint({
      body: openObject({}),
      captcha: async (token) => {
        asked.push(token);
        return { kind: 'refused', reason: 'token' };
      },
      maxBodyBytes: 1_000,
      telemetry,
      handle: async ({ captcha }, _, signal) => {
        outcomes.push(await captcha?.(signal));
        return { body: undefined };
      },
    });
    return { handler, asked, outcomes };
  }

  it('is verified by the use case, with the token of the header', async () => {
    const { handler, asked, outcomes } = asking();
    const request = gatewayEvent('{}');
    request.headers['captcha-token'] = 'token-1';
    expect(await answerTo(handler, request)).toMatchObject({ statusCode: 204 });
    expect(asked).toEqual(['token-1']);
    expect(outcomes).toEqual([{ kind: 'refused', reason: 'token' }]);
  });

  it('needs the header captcha-token if the deployment requires one, listed with all other errors', async () => {
    const { handler, asked } = asking();
    const request = gatewayEvent('{}');
    request.headers['idempotency-key'] = 'a b';
    expect((await answerTo(handler, request)).problem).toMatchObject({
      type: 'validation_failed',
      errors: [
        { header: 'Idempotency-Key', rule: 'format' },
        { header: 'captcha-token', rule: 'required' },
      ],
    });
    expect(asked).toEqual([]);
  });

  it('is absent if the deployment needs none', async () => {
    const { handler, requests } = recordingEndpoint();
    const request = gatewayEvent('{}');
    request.headers['captcha-token'] = 'token-1';
    expect(await answerTo(handler, request)).toMatchObject({ statusCode: 204 });
    expect(requests.map(({ captcha }) => captcha)).toEqual([undefined]);
  });
});

describe('The caller of a request', () => {
  async function callerOf(authorizer: object | undefined): Promise<string | undefined> {
    const { handler, requests } = recordingEndpoint();
    const request = gatewayEvent('{}');
    Object.assign(request.requestContext, { authorizer });
    await answerTo(handler, request);
    return requests[0]?.caller;
  }
  const ofArn = (userArn: string) => callerOf({ iam: { userArn } });

  it('is the user who signed it', async () => {
    const user = 'arn:aws:iam::111122223333:user/crm/back-office';
    expect(await ofArn(user)).toBe(`iam:${user}`);
  });

  it('is the assumed role in any session, so that a retry from another process is recognized', async () => {
    const role = 'arn:aws:sts::111122223333:assumed-role/crm';
    expect(await ofArn(`${role}/aws-sdk-js-1732000000000`)).toBe(`iam:${role}`);
    expect(await ofArn(`${role}/aws-sdk-js-1732003600000`)).toBe(`iam:${role}`);
    expect(await ofArn('arn:aws:sts::111122223333:assumed-role/crm2/a')).not.toBe(`iam:${role}`);
  });

  it('is the token’s subject, or else its client, with the kind in the name', async () => {
    expect(await callerOf({ jwt: { claims: { sub: 's1', client_id: 'c1' } } })).toBe('sub:s1');
    expect(await callerOf({ jwt: { claims: { client_id: 'c1' } } })).toBe('client_id:c1');
    expect(await callerOf({ jwt: { claims: { client_id: 's1' } } })).not.toBe(
      await callerOf({ jwt: { claims: { sub: 's1' } } }),
    );
  });

  it('that the token does not name cannot use an Idempotency-Key, and may call without a key', async () => {
    const { handler, requests } = recordingEndpoint();
    const authorizer = { jwt: { claims: { scope: 'accounts:create', sub: '' } } };
    const keyed = gatewayEvent('{}');
    keyed.headers['idempotency-key'] = 'k1';
    Object.assign(keyed.requestContext, { authorizer });
    expect((await answerTo(handler, keyed)).problem).toMatchObject({
      type: 'validation_failed',
      errors: [{ header: 'Idempotency-Key', rule: 'not_supported' }],
    });
    const plain = gatewayEvent('{}');
    Object.assign(plain.requestContext, { authorizer });
    expect(await answerTo(handler, plain)).toMatchObject({ statusCode: 204 });
    expect(requests).toHaveLength(1);
  });

  it('is undefined on an open route', async () => {
    expect(await callerOf(undefined)).toBeUndefined();
  });
});

it('A request has the name of its browser', async () => {
  const { handler, requests } = recordingEndpoint();
  const { headers, ...rest } = gatewayEvent('{}');
  await answerTo(handler, { ...rest, headers: { ...headers, 'user-agent': 'Browser/1.0' } });
  expect(requests).toMatchObject([{ userAgent: 'Browser/1.0' }]);
});

it('A use case is aborted four seconds before its function times out, after 16 of 20 seconds', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const aborted: boolean[] = [];
  const handler = endpoint({
    body: openObject({}),
    maxBodyBytes: 1_000,
    telemetry: recordingTelemetry([]),
    handle: async (_, __, signal) => {
      for (const ms of [15_999, 1]) {
        vi.advanceTimersByTime(ms);
        aborted.push(signal.aborted);
      }
      return { body: undefined };
    },
  });
  await answerTo(handler, gatewayEvent('{}'));
  expect(aborted).toEqual([false, true]);
});
