import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionName } from '../../infra/functions.ts';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { SENDING_SERVICES, type SenderName } from '../../infra/local/stand-ins/senders.ts';
import { SETTING_GROUPS } from '../../infra/setting-groups.ts';
import { SETTING_ROWS } from '../../infra/setting-rows.ts';
import { gatherSettings, SETTING_NAMES } from '../../infra/settings.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type LimitedCounter } from '../../lib/validators/limits.ts';
import type { Channel, PhoneChannel } from '../../lib/validators/otp-types.ts';
import { WITH_SETTINGS } from '../specification/settings-cases.ts';
import { PHONE_CHANNELS } from '../specification/table.ts';
import { FRONT_PROOF } from '../support/front.ts';
import {
  postJson,
  openAccount as requestAccount,
  register as requestRegistration,
  tablesOf,
} from '../support/local-service.ts';
import { loudService } from '../support/loud-service.ts';
import { coldStart } from '../support/registration-world.ts';

/**
 * Every setting that reaches a function has a visible effect there: `[function, setting, effect]`, with the settings of
 * the deployment. The functions are those of `functions/`, with their real password hashes; for limits with cheap ones.
 * The specification shows some settings of the registration: `shows` of `settings-cases.ts`. A new setting that neither
 * shows fails.
 */

interface Deployment {
  settings: Record<string, unknown>;
  /** True: with cheap password hashes. The dependencies of a function, which read the limits, are the same with both. */
  cheap?: true;
  rows: readonly Row[];
}
type Row = readonly [name: FunctionName, setting: string, effect: (running: Running) => Promise<void>];

/** The service with the settings of one deployment. */
interface Running {
  url: string;
  service: LocalService;
  /** The messages that were sent, by the requests for them. */
  messages: Map<string, Promise<string>>;
}

let people = 0;
/** Different for each request, so that no limit is reached unintentionally. */
function newPerson() {
  people += 1;
  const phone = { country_code: '44', number: `7400${String(100_000 + people * 10_001).slice(-6)}` };
  return { email: `person${people}@company${people}.example`, phone };
}

/** A registration of a new person, but for these members and headers. @returns the status */
const register = async (running: { url: string }, change: object = {}, headers: Record<string, string> = {}) =>
  (await requestRegistration(running, { ...newPerson(), ...change }, headers)).status;

async function confirm(running: { url: string }, change: object = {}, headers: Record<string, string> = {}) {
  const { email } = newPerson();
  const body = { otp_type: 'email', email, code: '000000', password: 'correct horse battery', ...change };
  return (await postJson(running, '/public/v1/account/register/confirm', body, headers)).status;
}

const PLACES = {
  tp5: { connection_id: 'tp5-live-1', group: 'real\\standard' },
  tp4: { connection_id: 'tp4-gw-2', group: 'standard' },
};

const openAccount = async (running: { url: string }, version: keyof typeof PLACES, change: object = {}) =>
  (await requestAccount(running, version, { ...PLACES[version], ...change })).status;

/** The path and the body of the last call to an AWS service, decoded. */
function lastAsked({ service }: Running, name: SenderName): string {
  const { lastPath, lastBody } = service.standIns[name];
  if (name === 'ses' || name === 'sns') return [...new URLSearchParams(lastBody).values()].join('\n');
  const { message = '' } = JSON.parse(lastBody) as { message?: string };
  return [lastPath, lastBody, Buffer.from(message, 'base64')].join('\n');
}

/** The message that a request causes, which is made once for all rows. */
function messageOf(running: Running, name: Parameters<typeof lastAsked>[1], key: string, ask: () => Promise<unknown>) {
  const message = running.messages.get(key) ?? ask().then(() => lastAsked(running, name));
  running.messages.set(key, message);
  return message;
}

/** The message of a registration has this. */
const says =
  (channel: Channel, words: string, change: object = {}): Row[2] =>
  async (running) => {
    const body = { otp_type: channel, ...change };
    const ask = () => register(running, body);
    expect(await messageOf(running, SENDING_SERVICES[channel], JSON.stringify(body), ask)).toContain(words);
  };

/** The mail about an opened account has this. */
const mailsHave =
  (version: keyof typeof PLACES, words: string): Row[2] =>
  async (running) => {
    const ask = async () => expect(await openAccount(running, version, { send_email: true })).toBe(200);
    expect(await messageOf(running, 'ses', version, ask)).toContain(words);
  };

const OF_MESSAGES: readonly unknown[] = ['senderAddress', 'brand', ...PHONE_CHANNELS];
/** The settings of messages, each with a value that is seen in a message. */
const MESSAGE_SETTINGS = Object.entries(SETTING_ROWS)
  .map(([name, { other }]) => [name, other] as [string, string])
  .filter(([name]) => OF_MESSAGES.includes(name.split('.', 1)[0]));
const CHANGED = gatherSettings(Object.fromEntries(MESSAGE_SETTINGS));
/** The effect of a setting on a mail. */
const IN_MAILS = MESSAGE_SETTINGS.filter(([name]) => /^(senderAddress$|brand\.)/.test(name)).map(
  ([name, value]) => [name, name === 'brand.color' ? 'rgb(17,17,17)' : value] as const,
);
const OWNER = { phone: { country_code: '44', number: '7400123456' } };

const ACCOUNTS = (['tp5', 'tp4'] as const).flatMap((version): Row[] => {
  const name = `create-${version}-account` as const;
  return IN_MAILS.map(([setting, words]) => [name, setting, mailsHave(version, words)]);
});

const VERDICT = { GuardDutyMalwareScanStatus: 'NO_THREATS_FOUND' };

/** A person who uploads a document, and confirms. @param scanned false: before the scan has ended */
async function confirmWithDocument(running: Running, scanned = true) {
  const { email } = newPerson();
  const { outbox, standIns } = running.service;
  const d0cUpl = [{ id: '1', name: 'passport.pdf', doc: Buffer.from('%PDF-1.4\n').toString('base64') }];
  expect(await register(running, { email, form_id: 'FORM0001', k3J9xQ: 'some', d0cUpl })).toBe(204);
  const key = [...standIns.s3.objects.keys()].at(-1) ?? '';
  const tags = () => standIns.s3.objects.get(key)?.tags ?? {};
  await expect.poll(tags).toMatchObject(VERDICT);
  if (!scanned) delete tags().GuardDutyMalwareScanStatus;
  const code = /\d{6}/.exec(outbox.list().at(-1)?.text ?? '')?.[0];
  expect(await confirm(running, { email, code })).toBe(204);
  return { key, tags };
}

const DELIVERIES: readonly Row[] = [
  [
    'confirm-registration',
    'scanDocuments',
    async (running) => {
      const { tags } = await confirmWithDocument(running);
      expect(tags()).toEqual(VERDICT);
    },
  ],
  [
    'notify-crm',
    'scanDocuments',
    async (running) => {
      await confirmWithDocument(running);
      const received = () => running.service.crm?.received().at(-1)?.data.documents;
      await expect.poll(received).toMatchObject([{ verdict: 'NO_THREATS_FOUND', url: expect.any(String) }]);
      const [{ url }] = received() as [{ url: string }];
      expect((await fetch(url)).status).toBe(200);
      // A document whose scan ends after the confirmation is kept by the delivery.
      const late = await confirmWithDocument(running, false);
      expect(late.tags()).toEqual({ registration: 'pending' });
      running.service.standIns.s3.scan(late.key);
      await expect.poll(() => running.service.deliveries.deliverNow().then(late.tags)).toEqual(VERDICT);
    },
  ],
  [
    'notify-crm',
    'crmWebhook',
    async (running) => {
      expect(await openAccount(running, 'tp5')).toBe(200);
      await expect.poll(() => running.service.crm?.received().at(-1)?.type).toBe('AccountOpened');
    },
  ],
];

const EVERY_MESSAGE: Deployment = {
  settings: { ...CHANGED, scanDocuments: true },
  rows: [
    ...IN_MAILS.map(([setting, words]): Row => ['request-registration', setting, says('email', words)]),
    ...MESSAGE_SETTINGS.flatMap(([setting, words]): Row[] => {
      const channel = PHONE_CHANNELS.find((name) => setting.startsWith(`${name}.`));
      // A template without a translation is sent in English.
      if (setting === 'whatsapp.languages')
        return [['request-registration', setting, says('whatsapp', '"en_US"', { language: 'pt' })]];
      const person = setting === 'whatsapp.noticeTemplate' ? OWNER : {};
      return channel === undefined ? [] : [['request-registration', setting, says(channel, words, person)]];
    }),
    ...ACCOUNTS,
    ...DELIVERIES,
  ],
};

/** The broker's own provider is used instead of AWS; a refused message is not sent. */
const byProvider =
  (channel: PhoneChannel): Row[2] =>
  async (running) => {
    const { service } = running;
    const asked = service.standIns[SENDING_SERVICES[channel]].requests;
    expect(await register(running, { otp_type: channel })).toBe(204);
    expect(service.outbox.list().at(-1)).toMatchObject({ kind: channel, text: expect.stringMatching(/\d/) });
    service.faults('provider').set({ kind: 'refused', times: 1 });
    expect(await register(running, { otp_type: channel })).toBe(502);
    expect(service.standIns[SENDING_SERVICES[channel]].requests).toBe(asked);
  };

const PROVIDER: Deployment = {
  settings: { provider: Object.fromEntries(PHONE_CHANNELS.map((channel) => [channel, 'local'])), confirmedDays: 9 },
  rows: [
    ...PHONE_CHANNELS.map((channel): Row => ['request-registration', `provider.${channel}`, byProvider(channel)]),
    ['confirm-registration', 'confirmedDays', keptForNineDays],
  ],
};

/** The status that a registration is answered with. */
const answers =
  (status: number, change: object): Row[2] =>
  async (running) => {
    expect(await register(running, change)).toBe(status);
  };

/** The headers of a request of a new person through the front. */
const frontHeaders = () => ({ 'x-wiring': `203.0.113.${++people}`, 'x-front-secret': FRONT_PROOF });

/** With hCaptcha alone, a captcha of a low score was solved by a person. */
const solved: Row[2] = async (running) => {
  const token = running.service.captcha?.solve({ score: 0.2 }) ?? '';
  expect(await register(running, {}, { 'captcha-token': token, ...frontHeaders() })).toBe(204);
};

/** Requests from one gateway address, in which the front names another person each time. */
const throughFront =
  (count: number, send: (running: Running, headers: Record<string, string>) => Promise<number>): Row[2] =>
  async (running) => {
    for (let index = 0; index < count; index += 1) {
      expect(await send(running, { 'x-forwarded-for': '192.0.2.1', ...frontHeaders() })).not.toBe(429);
    }
  };
const registersBehindFront = throughFront(2, (running, headers) => register(running, {}, headers));
const confirmsBehindFront = throughFront(2, (running, headers) => confirm(running, {}, headers));

const FRONT: Deployment = {
  settings: {
    front: { header: 'x-wiring', secret: 'wiring/front' },
    limits: { sourcePer10Minutes: 1, confirmationsPer10Minutes: 1 },
    phone: { countries: ['FR'] },
  },
  rows: [
    ...(['header', 'secret'] as const).flatMap((member): Row[] => [
      ['request-registration', `front.${member}`, registersBehindFront],
      ['confirm-registration', `front.${member}`, confirmsBehindFront],
    ]),
    ['request-registration', 'phone.countries', answers(400, { otp_type: 'sms' })],
  ],
};

const FRONT_ALONE: Deployment = {
  settings: {
    front: { header: 'x-wiring', secret: 'wiring/front', only: true },
    captcha: { provider: 'hcaptcha', secret: 'wiring/captcha', minScore: 0.7 },
  },
  rows: [
    ['request-registration', 'captcha.provider', solved],
    ['request-registration', 'captcha.secret', solved],
    [
      'request-registration',
      'front.only',
      // Even with other errors.
      async (running) => expect(await register(running, {}, { 'content-type': 'text/plain' })).toBe(403),
    ],
    [
      'confirm-registration',
      'front.only',
      async (running) => {
        expect(await confirm(running)).toBe(403);
      },
    ],
  ],
};

async function keptForNineDays(running: Running): Promise<void> {
  const { email } = newPerson();
  expect(await register(running, { email })).toBe(204);
  const { text = '' } = running.service.outbox.list().findLast(({ to }) => to === email) ?? {};
  const code = /^\d{6}$/m.exec(text)?.[0];
  expect(await confirm(running, { email, code })).toBe(204);
  const { registrations, table } = tablesOf(running.service);
  const signal = AbortSignal.timeout(30_000);
  const [found] = await registrations.list({ otp_type: 'email', address: email }, signal);
  const item = await table('registrations').get({ pk: `registration#${found?.registration_id}` }, signal);
  const days = (Number(item?.expires_at) - Date.now() / 1_000) / 86_400;
  expect(Math.round(days)).toBe(9);
}

const WIDE = { resendSeconds: [1], recipientPerHour: 100, recipientPerDay: 100 };

const registersTwice =
  (request: (index: number) => [change: object, headers?: Record<string, string>]): Row[2] =>
  async (running) => {
    expect(await register(running, ...request(1))).not.toBe(429);
    expect(await register(running, ...request(2))).toBe(429);
  };

const replaysOnce: Row[2] = async (running) => {
  const headers = { 'x-forwarded-for': '203.0.113.7', 'idempotency-key': 'wiring-1' };
  const change = { email: 'keys@company.example', phone: OWNER.phone };
  const statuses: number[] = [];
  for (let times = 0; times < 3; times += 1) statuses.push(await register(running, change, headers));
  expect(statuses).toEqual([204, 204, 429]);
};

/** The second confirmation from these addresses is too many. */
const confirmsOnce =
  (...sources: [string, string]): Row[2] =>
  async (running) => {
    const statuses: number[] = [];
    for (const source of sources) statuses.push(await confirm(running, {}, { 'x-forwarded-for': source }));
    expect(statuses).toEqual([400, 429]);
  };

const SOURCE = { 'x-forwarded-for': '203.0.113.1' };

/** Two requests of which a limit of one refuses the second. */
interface ExceedingRequests {
  of: FunctionName;
  /** Limits with the same word are in different deployments, because these requests also meet the others. */
  apart: string;
  exceed: Row[2];
}

const exceedingSms = (exceed: Row[2]): ExceedingRequests => ({ of: 'request-registration', apart: 'sms', exceed });
const exceedingSource = (change: object): ExceedingRequests => ({
  ...{ of: 'request-registration', apart: 'source' },
  exceed: registersTwice(() => [change, SOURCE]),
});
/** The same request twice, which also meets every other limit. A mail provider's domain is counted by no limit. */
const SAME_REQUEST: ExceedingRequests = {
  of: 'request-registration',
  apart: 'all others',
  exceed: registersTwice(() => [{ email: 'same@gmail.com' }, SOURCE]),
};

/** What exceeds a limit of one of a counter; absent: the same request twice. */
const EXCEEDING_REQUESTS: Readonly<Partial<Record<LimitedCounter, ExceedingRequests>>> = {
  recipient: {
    ...{ of: 'request-registration', apart: 'recipient' },
    exceed: registersTwice(() => [{ email: 'again@gmail.com' }]),
  },
  source: exceedingSource({}),
  wrong: exceedingSource({ form_id: 'NOSUCHID' }),
  network: {
    ...{ of: 'request-registration', apart: 'network' },
    exceed: registersTwice((index) => [{}, { 'x-forwarded-for': `2001:db8:1:${index}::1` }]),
  },
  prefix: exceedingSms(
    registersTwice((index) => [{ otp_type: 'sms', phone: { country_code: '44', number: `740055000${index}` } }]),
  ),
  country: exceedingSms(registersTwice(() => [{ otp_type: 'sms' }])),
  channel: exceedingSms(registersTwice(() => [{ otp_type: 'sms' }])),
  domain: {
    ...{ of: 'request-registration', apart: 'domain' },
    exceed: registersTwice((index) => [{ email: `person${index}@one-company.example` }]),
  },
  replay: { of: 'request-registration', apart: 'replay', exceed: replaysOnce },
  confirmation: {
    of: 'confirm-registration',
    apart: 'confirmation',
    exceed: confirmsOnce('203.0.113.1', '203.0.113.1'),
  },
  confirmation_network: {
    ...{ of: 'confirm-registration', apart: 'network' },
    exceed: confirmsOnce('2001:db8:1:1::1', '2001:db8:1:2::1'),
  },
};

/** Every limit, with the requests that exceed it, and the name of its deployment. */
const LIMITS = [
  { name: 'resendSeconds', counter: 'recipient' as const },
  ...COUNT_LIMIT_NAMES.map((name) => ({ name, counter: COUNT_LIMITS[name].counter })),
]
  .map(({ name, counter }) => ({ name, ...(EXCEEDING_REQUESTS[counter] ?? SAME_REQUEST) }))
  .map(({ name, of, apart, exceed }, index, all) => {
    const before = all.slice(0, index).filter((one) => one.of === of && one.apart === apart);
    const deployment = apart === SAME_REQUEST.apart ? name : `number ${before.length}`;
    return { deployment, name, row: [of, `limits.${name}`, exceed] as const };
  });
const limitsOf = (of: FunctionName) => LIMITS.filter(({ row }) => row[0] === of).map(({ row }) => row[1]);

/** Deployments with limits of one, or with one long wait. */
const OF_LIMITS = [...new Set(LIMITS.map(({ deployment }) => deployment))].map((one): Deployment => {
  const limits = LIMITS.filter(({ deployment }) => deployment === one);
  const values = limits.map(({ name }) => [name, name === 'resendSeconds' ? [3_600] : 1]);
  const settings = { limits: { ...WIDE, ...Object.fromEntries(values) } };
  return { settings, cheap: true, rows: limits.map(({ row }) => row) };
});

type Loud = Awaited<ReturnType<typeof loudService>>;
/** A call for each function that logs an event, whose line names the stage. */
const LOGGED: Readonly<Record<FunctionName, (running: Loud) => unknown>> = {
  'request-registration': (running) => register(running),
  'confirm-registration': (running) => confirm(running),
  'create-tp5-account': (running) => openAccount(running, 'tp5'),
  'create-tp4-account': (running) => openAccount(running, 'tp4'),
  'settle-operations': async ({ tick, refuse }) => {
    await refuse('registrations');
    await tick();
    await refuse(undefined);
  },
  'notify-crm': (running) => openAccount(running, 'tp5'),
};

const DEPLOYMENTS: readonly Deployment[] = [...[EVERY_MESSAGE, PROVIDER, FRONT, FRONT_ALONE], ...OF_LIMITS];

/** Settings of a function without a visible effect, with the reason. */
const INVISIBLE: readonly (readonly [name: FunctionName, settings: readonly string[], reason: string])[] = [
  ['request-registration', limitsOf('confirm-registration'), 'It confirms nothing.'],
  ['confirm-registration', limitsOf('request-registration'), 'It sends no messages and takes no keys.'],
  [
    'settle-operations',
    IN_MAILS.map(([name]) => name),
    'It has the environment of the account functions, and sends no notices.',
  ],
];

describe.each(DEPLOYMENTS)('With the settings of a deployment', ({ settings, cheap, rows }) => {
  const running = {} as Running;
  beforeAll(async () => {
    running.service = await startService({ settings, ...(cheap && { load: coldStart }) });
    running.url = running.service.url;
    running.messages = new Map();
  });
  afterAll(() => running.service.close());

  it.each(rows)('%s has %s', async (_, __, effect) => {
    await effect(running);
  });
});

describe('With a stage', () => {
  let loud: Loud;
  beforeAll(async () => {
    loud = await loudService({ stage: 'wiring' });
  });
  afterAll(() => loud.stop());

  it.each(FUNCTION_NAMES)('%s logs it', async (name) => {
    await LOGGED[name](loud);
    const own = () => loud.lines.filter((line) => line.includes(`"service":"${name}"`));
    await expect.poll(() => own().length).toBeGreaterThan(0);
    for (const line of own()) expect(line).toContain('"stage":"wiring"');
  });
});

describe('The table', () => {
  it.each(FUNCTION_NAMES)('has every setting that reaches %s, each once', (name) => {
    const groups = FUNCTIONS[name].settings.flatMap((group) => Object.keys(SETTING_GROUPS[group]));
    const reach = SETTING_NAMES.filter((setting) => groups.includes(setting.split('.', 1)[0] ?? ''));
    const rows = DEPLOYMENTS.flatMap((deployment) => deployment.rows).filter(([of]) => of === name);
    const specified = name === 'request-registration' ? WITH_SETTINGS.flatMap(({ shows }) => shows) : [];
    const shown = [...rows.map(([, setting]) => setting), ...specified];
    const invisible = INVISIBLE.filter(([of]) => of === name).flatMap(([, settings]) => settings);
    expect(['stage', ...shown, ...invisible].sort()).toEqual([...reach].sort());
  });
});
