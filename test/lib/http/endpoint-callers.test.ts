import { describe, expect, it } from 'vitest';
import { answerTo, anything, event } from '../../support/endpoint.ts';

describe('The caller of a request', () => {
  async function callerOf(authorizer: object | undefined): Promise<string | undefined> {
    const { handler, callers } = anything();
    const request = event('{}');
    Object.assign(request.requestContext, { authorizer });
    await answerTo(handler, request);
    return callers[0];
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

  it('that the token does not name cannot use an Idempotency-Key, and may call without one', async () => {
    const { handler, seen } = anything();
    const authorizer = { jwt: { claims: { scope: 'accounts:create', sub: '' } } };
    const keyed = event('{}');
    keyed.headers['idempotency-key'] = 'k1';
    Object.assign(keyed.requestContext, { authorizer });
    expect((await answerTo(handler, keyed)).problem).toMatchObject({
      type: 'validation_failed',
      errors: [{ header: 'Idempotency-Key', rule: 'not_supported' }],
    });
    const plain = event('{}');
    Object.assign(plain.requestContext, { authorizer });
    expect(await answerTo(handler, plain)).toMatchObject({ statusCode: 204 });
    expect(seen).toHaveLength(1);
  });

  it('is undefined on an open route', async () => {
    expect(await callerOf(undefined)).toBeUndefined();
  });
});
