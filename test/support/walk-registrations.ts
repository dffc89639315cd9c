import { expect } from 'vitest';
import { PHONE_CHANNEL_ROWS } from '../../infra/channels.ts';
import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { type Channel, PHONE_CHANNELS } from '../../lib/validators/otp-types.ts';
import { FRONT_PROOF } from './front.ts';
import { type AlarmRow, requestAccount, walk } from './operators-walk.ts';

const SENDERS = { ...SENDING_SERVICES, call: 'provider' } as const;
const NEW_FRONT = 'f'.repeat(32);
const SOURCE = { 'x-forwarded-for': '203.0.113.77' };
const NAMED = { 'x-client-address': '203.0.113.78' };

const CODES_NOT_SENT = (Object.keys(SENDERS) as Channel[]).map(
  (channel): AlarmRow => ({
    alarms: [`CodesNotSent-${channel}`],
    provoke: async () => {
      await walk.fault(SENDERS[channel], { kind: 'refused', times: 1 });
      expect(await walk.ask(channel, walk.left.person)).toBe(502);
    },
    show: 'events RequestRegistration OtpDeliveryFailed',
    names: ['kind', 'reason'],
    end: async () => {
      await walk.repair();
      expect(await walk.ask(channel, walk.left.person)).toBe(204);
    },
  }),
);

/** The channels whose messages AWS bills by a metric, and those whose messages this service counts. */
export const BILLED_CHANNELS = PHONE_CHANNELS.filter((name) => PHONE_CHANNEL_ROWS[name].spend.metric !== undefined);
const COUNTED_CHANNELS = PHONE_CHANNELS.filter((name) => !BILLED_CHANNELS.includes(name));

/** After the pause the same person asks again, and is called. */
async function callsAgain(): Promise<void> {
  await walk.wait(2);
  const before = (await walk.local<unknown[]>('GET', 'outbox')).length;
  expect(await walk.ask('call', walk.left.person)).toBe(204);
  expect(await walk.local<unknown[]>('GET', 'outbox')).toHaveLength(before + 1);
}

/** The alarms about registrations, and about events for the CRM. */
export const REGISTRATION_ROWS: readonly AlarmRow[] = [
  ...CODES_NOT_SENT,
  {
    alarms: ['CrmUndelivered'],
    provoke: async () => {
      await walk.fault('crm', { kind: 'gone', times: 1 });
      await requestAccount('tp5');
      await expect.poll(() => states()).toContain('undelivered');
    },
    show: 'events NotifyCrm CrmNotNotified',
    names: ['reason'],
    end: async () => {
      await walk.run('npm run crm -- redeliver --stack $STACK');
      await delivered();
    },
  },
  {
    alarms: ['CrmNotNotified', 'CrmEventsWait-accounts', 'CrmEventsWait-registrations'],
    provoke: async () => {
      await walk.fault('crm', { kind: 'refused', times: 2 });
      await requestAccount('tp5');
      expect(await walk.join()).toEqual([204, 204]);
      await expect.poll(() => walk.shown('events NotifyCrm CrmNotNotified').length).toBe(2);
      await waiting(2);
    },
    show: 'events NotifyCrm CrmNotNotified',
    names: ['reason'],
    end: () => delivered(),
  },
  {
    alarms: ['LimitsUnchecked-request-registration', 'LimitsUnchecked-confirm-registration'],
    provoke: async () => {
      await walk.refuse('limits');
      expect([await walk.ask('email', walk.left.person), await walk.ask('sms')]).toEqual([204, 500]);
      expect(await walk.confirm(walk.left.person)).toBe(204);
    },
    show: 'events RequestRegistration LimitUncheckable',
    names: ['reason'],
    end: async () => {
      await walk.refuse(undefined);
      expect(await walk.ask('sms')).toBe(204);
    },
  },
  {
    alarms: ['RouteFails-request-registration', 'InternalErrors-request-registration', 'ServerErrors'],
    provoke: async () => {
      const asks = () => walk.ask('email', walk.left.person, { 'idempotency-key': walk.left.key, ...SOURCE });
      walk.left.item = await walk.madeBy('registrations', async () => {
        expect(await asks()).toBe(204);
      });
      walk.left.item = (await walk.items('registrations')).findLast(({ pk }) => String(pk).startsWith('key#')) ?? {};
      await walk.put('registrations', { ...walk.left.item, revision: 'broken' });
      expect(await asks()).toBe(500);
    },
    show: 'events RequestRegistration InternalError',
    names: ['reason', 'item', 'stack'],
    end: async () => {
      walk.says('correct the item');
      await walk.put('registrations', walk.left.item);
      expect(await walk.ask('email', walk.left.person, { 'idempotency-key': walk.left.key, ...SOURCE })).toBe(204);
    },
  },
  {
    alarms: ['RouteFails-confirm-registration', 'InternalErrors-confirm-registration'],
    provoke: async () => {
      expect(await walk.ask('email', walk.left.person)).toBe(204);
      walk.left.item = (await walk.items('registrations')).find((item) => item.email === walk.left.person.email) ?? {};
      const { password_hash, ...broken } = walk.left.item;
      expect(password_hash).toBeDefined();
      await walk.put('registrations', broken);
      expect(await walk.confirm(walk.left.person)).toBe(500);
    },
    show: 'events ConfirmRegistration InternalError',
    names: ['reason', 'item', 'stack'],
    end: async () => {
      walk.says('correct the item');
      await walk.put('registrations', walk.left.item);
      expect(await walk.confirm(walk.left.person)).toBe(204);
    },
  },
  {
    alarms: ['CaptchaUnavailable'],
    provoke: async () => {
      walk.left.secret = await walk.secret('captcha/key');
      await walk.run('npm run crm -- secret put captcha.secret --stack $STACK', {}, 'another key');
      await walk.wait(6);
      expect(await walk.ask('sms', walk.left.person)).toBe(500);
    },
    show: 'events RequestRegistration CaptchaUnavailable',
    names: ['reason'],
    end: async () => {
      await walk.run('npm run crm -- secret put captcha.secret --stack $STACK', {}, walk.left.secret);
      await walk.wait(6);
      expect(await walk.ask('sms', walk.left.person)).toBe(204);
    },
  },
  {
    alarms: ['ClientNotWritten'],
    provoke: async () => {
      await walk.fault('crm', { kind: 'reply_lost', times: 1_000 });
      expect(await walk.join(walk.left.person)).toEqual([204, 204]);
      await expect.poll(() => walk.shown('events NotifyCrm CrmNotNotified').length).toBe(1);
      await waiting(1);
      const clients = await walk.local<{ id: string; email: string }[]>('GET', 'clients');
      walk.left.id = clients.find(({ email }) => email === walk.left.person.email)?.id ?? '';
      await walk.put('crm', {
        pk: `client#${walk.left.id}`,
        record: { id: walk.left.id, name: 'Another', email: 'another@example.com' },
      });
      await walk.repair();
      await walk.local('POST', 'deliveries');
    },
    show: 'events NotifyCrm ClientNotWritten',
    names: ['reason', 'user_id'],
    end: async () => {
      const file = { clients: [{ id: walk.left.id, name: 'New Trader', email: walk.left.person.email }] };
      await walk.run('npm run crm -- import FILE', { FILE: '-' }, JSON.stringify(file));
      expect(await walk.run('npm run crm -- client USER_ID --stack $STACK', { USER_ID: walk.left.id })).toContain(
        walk.left.person.email,
      );
    },
  },
  {
    alarms: ['CodesInDoubt'],
    provoke: async () => {
      await walk.fault('provider', { kind: 'reply_lost', times: 1 });
      expect(await walk.ask('call', walk.left.person)).toBe(204);
    },
    show: 'events RequestRegistration OtpOutcomeUnknown',
    names: ['reason'],
    end: callsAgain,
  },
  {
    alarms: ['CrmItemMalformed'],
    provoke: async () => {
      walk.left.item = { pk: 'form#FORMWALK', kind: 'form', record: { id: 'FORMWALK', name: 'Walk', fields: [] } };
      await walk.put('crm', { ...walk.left.item, record: 'broken' });
      expect(await walk.ask('email', { ...walk.left.person, form_id: 'FORMWALK' })).toBe(400);
    },
    show: 'events RequestRegistration CrmItemMalformed',
    names: ['item'],
    end: async () => {
      expect(await walk.run('npm run doctor -- --stack $STACK')).toContain('form#FORMWALK');
      await walk.put('crm', walk.left.item);
      expect(await walk.ask('email', { ...walk.left.person, form_id: 'FORMWALK' })).toBe(204);
    },
  },
  {
    alarms: ['Flood'],
    provoke: async () => {
      expect(await walk.ask('email', walk.left.person)).toBe(204);
      expect(await walk.ask('email', walk.left.person)).toBe(429);
    },
    show: 'events RequestRegistration LimitReached',
    end: async () => {
      expect(await walk.ask()).toBe(204);
      await walk.wait(2);
      expect(await walk.ask('email', walk.left.person)).toBe(204);
    },
  },
  {
    alarms: ['FrontRefused'],
    provoke: async () => expect(await walk.ask('email', {}, { 'x-front-secret': NEW_FRONT, ...NAMED })).toBe(204),
    show: 'events RequestRegistration FrontRefused',
    end: async () => {
      const secret = JSON.stringify({ current: FRONT_PROOF, previous: NEW_FRONT });
      await walk.run('npm run crm -- secret put front.secret --stack $STACK', {}, secret);
      await walk.wait(6);
      await passes({ 'x-front-secret': NEW_FRONT, ...NAMED }, 'FrontRefused');
    },
  },
  {
    alarms: ['FrontUnreadable'],
    provoke: async () =>
      expect(await walk.ask('email', {}, { 'x-front-secret': FRONT_PROOF, 'x-client-address': 'unknown' })).toBe(204),
    show: 'events RequestRegistration FrontUnreadable',
    end: () => passes({ 'x-front-secret': FRONT_PROOF, ...NAMED }, 'FrontUnreadable'),
  },
  {
    alarms: ['MessageRefused'],
    provoke: async () => {
      await walk.fault('provider', { kind: 'refused_message', times: 1 });
      expect(await walk.ask('call', walk.left.person)).toBe(204);
    },
    show: 'events RequestRegistration MessageRefused',
    names: ['reason'],
    end: callsAgain,
  },
  {
    alarms: ['RecipientRefused'],
    provoke: async () => {
      await walk.fault('ses', { kind: 'refused_recipient', times: 1 });
      expect(await walk.ask('email', walk.left.person)).toBe(502);
    },
    show: 'events RequestRegistration RecipientRefused',
    names: ['kind', 'reason'],
    end: async () => expect(await walk.ask()).toBe(204),
  },
  {
    alarms: ['Silence'],
    provoke: async () => expect(await walk.ask('whatsapp')).toBe(204),
    end: async () => expect(await walk.ask('email')).toBe(204),
  },
  ...COUNTED_CHANNELS.map(
    (channel): AlarmRow => ({
      alarms: [`Spend-${channel}`],
      provoke: async () => expect(await walk.ask(channel)).toBe(204),
      end: async () => expect(await walk.ask('email')).toBe(204),
    }),
  ),
];

async function states(): Promise<string[]> {
  return (await walk.local<{ state: string }[]>('GET', 'deliveries')).map(({ state }) => state);
}

/** Waits for deliveries that have failed: the queue hears of that after the log. */
async function waiting(count: number): Promise<void> {
  await expect.poll(async () => (await states()).filter((state) => state === 'waiting')).toHaveLength(count);
}

async function delivered(): Promise<void> {
  await walk.local('POST', 'deliveries');
  await expect.poll(async () => new Set(await states())).toEqual(new Set(['delivered']));
}

async function passes(headers: Record<string, string>, event: string): Promise<void> {
  await walk.begin('');
  expect(await walk.ask('email', {}, headers)).toBe(204);
  await expect.poll(() => walk.shown('events RequestRegistration OtpSent').length).toBe(1);
  expect(walk.lines().filter(({ message }) => message === event)).toEqual([]);
}
