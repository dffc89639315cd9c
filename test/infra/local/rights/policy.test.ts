import { describe, expect, it } from 'vitest';
import {
  allowingRights,
  type NeededRight,
  parseRights,
  type Statement,
} from '../../../../infra/local/rights/policy.ts';

const TABLE = 'arn:aws:dynamodb:eu-west-1:000000000000:table/crm';

function allows(statement: Partial<Statement>, need: Partial<NeededRight>): boolean {
  const read = { Sid: 'Read', Effect: 'Allow', Action: 'dynamodb:GetItem', ...statement };
  const rights = parseRights('a-function', [
    'Resource' in read || 'NotResource' in read ? read : { ...read, Resource: TABLE },
  ]);
  return allowingRights(rights, { action: 'dynamodb:GetItem', resource: TABLE, ...need }).length > 0;
}

describe('A policy', () => {
  it('allows its actions, in any case, on its resources, and nothing else', () => {
    expect(allows({}, {})).toBe(true);
    expect(allows({}, { action: 'DynamoDB:getitem' })).toBe(true);
    expect(allows({}, { action: 'dynamodb:PutItem' })).toBe(false);
    expect(allows({}, { resource: `${TABLE}2` })).toBe(false);
    expect(allows({}, { resource: `${TABLE}/index/due` })).toBe(false);
    expect(allows({}, { resource: TABLE.toUpperCase() })).toBe(false);
    expect(allows({ Action: ['dynamodb:PutItem', 'dynamodb:GetItem'] }, {})).toBe(true);
  });

  it('has two wildcards: * is any text, ? one character', () => {
    const secret = (name: string) => ({ resource: `arn:aws:secretsmanager:eu-west-1:000000000000:secret:${name}` });
    const named = { Resource: secret('captcha-??????').resource };
    expect(allows(named, secret('captcha-a1b2c3'))).toBe(true);
    expect(allows(named, secret('captcha-key-a1b2c3'))).toBe(false);
    expect(allows({ Resource: secret('platform/*').resource }, secret('platform/a/b-a1b2c3'))).toBe(true);
    expect(allows({ Resource: secret('a.c').resource }, secret('abc'))).toBe(false);
    expect(allows({ Action: 'dynamodb:*' }, {})).toBe(true);
  });

  it('can allow everything other than some resources', () => {
    const texts = { Action: 'sns:Publish', NotResource: 'arn:aws:sns:*:*:*' };
    expect(allows(texts, { action: 'sns:Publish', resource: '+447400123456' })).toBe(true);
    expect(allows(texts, { action: 'sns:Publish', resource: 'arn:aws:sns:eu-west-1:000000000000:topic' })).toBe(false);
  });

  it('can compare attributes of a call', () => {
    const sender = { Condition: { StringEquals: { 'ses:FromAddress': 'no-reply@acme.example' } } };
    expect(allows(sender, { context: { 'ses:FromAddress': 'no-reply@acme.example' } })).toBe(true);
    expect(allows(sender, { context: { 'ses:FromAddress': 'ceo@acme.example' } })).toBe(false);
    expect(allows(sender, {})).toBe(false);
    const confirmed = { Condition: { StringNotEquals: { 's3:ExistingObjectTag/registration': 'pending' } } };
    expect(allows(confirmed, { context: { 's3:ExistingObjectTag/registration': 'pending' } })).toBe(false);
    expect(allows(confirmed, {})).toBe(true);
    const byNone = { Condition: { Null: { 'lambda:SourceFunctionArn': 'true' } } };
    expect(allows(byNone, {})).toBe(true);
    expect(allows(byNone, { context: { 'lambda:SourceFunctionArn': 'arn' } })).toBe(false);
    expect(allows({ Condition: { Null: { 'lambda:SourceFunctionArn': 'false' } } }, {})).toBe(false);
  });

  it('is a right for each action on each resource', () => {
    const statement = { Sid: 'Keep', Effect: 'Allow', Action: ['a:Get', 'a:Put'], Resource: ['x', 'y'] };
    expect(parseRights('f', [statement]).map(({ id }) => id)).toEqual([
      'f Keep a:Get x',
      'f Keep a:Get y',
      'f Keep a:Put x',
      'f Keep a:Put y',
    ]);
  });

  it('denies what one statement denies, whatever others allow, and in any order', () => {
    const read = { Sid: 'Read', Effect: 'Allow', Action: 'dynamodb:*', Resource: '*' };
    const deny = { Sid: 'Deny', Effect: 'Deny', Action: 'dynamodb:Get*', Resource: `${TABLE}/*` };
    for (const statements of [
      [read, deny],
      [deny, read],
    ]) {
      const rights = parseRights('ann', statements);
      const allowed = (action: string, resource: string) =>
        allowingRights(rights, { action, resource }).map(({ id }) => id);
      expect(allowed('dynamodb:GetItem', `${TABLE}/index/due`)).toEqual([]);
      expect(allowed('dynamodb:GetItem', TABLE)).toEqual(['ann Read dynamodb:* *']);
      expect(allowed('dynamodb:PutItem', `${TABLE}/index/due`)).toEqual(['ann Read dynamodb:* *']);
    }
  });

  it('that only denies allows nothing', () => {
    expect(allows({ Effect: 'Deny' }, {})).toBe(false);
    expect(allows({ Effect: 'Deny', Resource: `${TABLE}2` }, {})).toBe(false);
  });

  it.each([
    ['another effect', { Effect: 'Audit' }],
    ['another condition', { Condition: { StringLike: { 'ses:FromAddress': '*' } } }],
  ])('with an unsupported element is an error, not a right: %s', (_, statement) => {
    expect(() => allows(statement, {})).toThrow('is not evaluated here');
  });
});
