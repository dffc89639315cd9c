import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, type FunctionName } from '../../infra/functions.ts';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { SENDING_SERVICES, type SenderName } from '../../infra/local/stand-ins/senders.ts';
import { SMALLEST_FILES } from '../support/document-files.ts';
import { FRONT_PROOF } from '../support/front.ts';
import { openAccount, postJson, register } from '../support/local-service.ts';
import { loudService } from '../support/loud-service.ts';
import { coldStart } from '../support/registration-world.ts';

/**
 * Settings take effect in the functions: those of messages in what is sent, those of the edge and of documents in what
 * is answered and kept. Types keep them for the rest: a function's dependencies get its whole configuration.
 */

let people = 0;
/** Different for each request, so that no limit is reached unintentionally. */
function newPerson() {
  people += 1;
  const phone = { country_code: '44', number: `7400${String(100_000 + people * 10_001).slice(-6)}` };
  return { email: `person${people}@company${people}.example`, phone };
}

/** A registration of a new person, but for these members and headers. @returns the status */
const registerAnybody = async (service: { url: string }, change: object = {}, headers: Record<string, string> = {}) =>
  (await register(service, { ...newPerson(), ...change }, headers)).status;

const confirm = async (service: { url: string }, change: object = {}) => {
  const body = { registration_id: '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10', code: '000000' };
  return (await postJson(service, '/public/v1/account/register/confirm', { ...body, ...change })).status;
};

const PLACES = {
  tp5: { connection_id: 'tp5-live-1', group: 'real\\standard' },
  tp4: { connection_id: 'tp4-gw-2', group: 'standard' },
};
const openFor = async (service: { url: string }, version: keyof typeof PLACES) =>
  (await openAccount(service, version, { ...PLACES[version], send_email: true })).status;

/** The path and the body of the last call to an AWS service, decoded. */
function lastAsked(service: LocalService, name: SenderName): string {
  const { lastPath, lastBody } = service.standIns[name];
  if (name === 'ses' || name === 'sns') return [...new URLSearchParams(lastBody).values()].join('\n');
  const { message = '' } = JSON.parse(lastBody) as { message?: string };
  return [lastPath, lastBody, Buffer.from(message, 'base64')].join('\n');
}

describe('With the settings of messages and documents', () => {
  const brand = {
    name: 'Other Brand',
    supportEmail: 'support@other.example',
    color: '#111111',
    legal: 'Other Ltd, No. 4711',
    logo: { url: 'https://other.example/logo.png', alt: 'Other logo' },
  };
  const IN_MAILS = [
    'post@acme.example',
    'Other Brand',
    brand.supportEmail,
    'rgb(17,17,17)',
    brand.legal,
    brand.logo.url,
  ];
  const sms = {
    senderId: 'OTHER',
    originationNumber: '+15550100124',
    maxPrice: '0.26',
    webOtpDomain: 'otp.other.example',
  };
  const call = { originationIdentity: 'pool-2' };
  const whatsapp = {
    phoneNumberId: 'phone-number-id-2',
    codeTemplate: 'other_code',
    languages: ['en', 'de'],
  };
  let service: LocalService;
  beforeAll(async () => {
    const settings = { senderAddress: 'post@acme.example', brand, sms, call, whatsapp };
    service = await startService({ settings, load: coldStart });
  });
  afterAll(() => service.close());

  it.each([
    ['a registration', registerAnybody, 204],
    ['an account of version 5', (at: LocalService) => openFor(at, 'tp5'), 200],
    ['an account of version 4', (at: LocalService) => openFor(at, 'tp4'), 200],
  ] as const)('the mail of %s has sender and brand', async (_, ask, status) => {
    expect(await ask(service)).toBe(status);
    for (const words of IN_MAILS) expect(lastAsked(service, 'ses')).toContain(words);
  });

  it.each([
    ['sms', {}, Object.values(sms)],
    ['call', {}, Object.values(call)],
    // A template without a translation is sent in English.
    ['whatsapp', { language: 'pt' }, [whatsapp.phoneNumberId, whatsapp.codeTemplate, '"en_US"']],
  ] as const)('the message by %s has them', async (otp_type, person, words) => {
    expect(await registerAnybody(service, { otp_type, ...person })).toBe(204);
    for (const word of words) expect(lastAsked(service, SENDING_SERVICES[otp_type])).toContain(word);
  });

  it('the CRM gets a document, which is kept from the confirmation on', async () => {
    const { outbox, standIns, deliveries } = service;
    const d0cUpl = [{ id: '1', name: 'passport.png', doc: SMALLEST_FILES.png.toString('base64') }];
    const requested = await register(service, { ...newPerson(), form_id: 'FORM0001', k3J9xQ: 'some', d0cUpl });
    expect(requested.status).toBe(204);
    const key = [...standIns.s3.objects.keys()].at(-1) ?? '';
    const tags = () => standIns.s3.objects.get(key)?.tags ?? {};
    expect(tags()).toEqual({ registration: 'pending' });
    const code = /\d{6}/.exec(outbox.list().at(-1)?.text ?? '')?.[0];
    const registration_id = requested.headers.get('registration-id');
    expect(await confirm(service, { registration_id, code })).toBe(204);
    expect(tags()).toEqual({});
    const received = () => service.crm?.received().at(-1)?.data.documents;
    await expect.poll(() => deliveries.deliverNow().then(received)).toMatchObject([{ name: 'passport.png' }]);
  });
});

describe('With the settings of the edge', () => {
  const settings = {
    front: { header: 'x-wiring', secret: 'wiring/front', only: true },
    captcha: { provider: 'hcaptcha', secret: 'wiring/captcha', minScore: 0.7 },
    provider: { sms: 'local' },
    phone: { countries: ['GB'] },
    limits: { countryMessagesPerHour: 1 },
  };
  let service: LocalService;
  beforeAll(async () => {
    service = await startService({ settings, load: coldStart });
  });
  afterAll(() => service.close());

  /** A request of a new person through the front, by whom a captcha was solved. */
  const throughFront = (change: object = {}) => {
    const token = service.captcha?.solve({ score: 0.2 }) ?? '';
    const front = { 'x-wiring': `203.0.113.${++people}`, 'x-front-secret': FRONT_PROOF };
    return registerAnybody(service, change, { 'captcha-token': token, ...front });
  };

  it('a request that did not come through the front is refused, on both open routes, whatever else is wrong', async () => {
    expect(await registerAnybody(service, {}, { 'content-type': 'text/plain' })).toBe(403);
    expect(await confirm(service)).toBe(403);
  });

  it('texts go to the provider, to the countries that are served, and within the limits', async () => {
    expect(await throughFront({ otp_type: 'sms', phone: { country_code: '33', number: '612345678' } })).toBe(400);
    expect(await throughFront({ otp_type: 'sms' })).toBe(204);
    expect(service.outbox.list().at(-1)).toMatchObject({ kind: 'sms', text: expect.stringMatching(/\d{6}/) });
    expect(service.standIns.sns.requests).toBe(0);
    expect(await throughFront({ otp_type: 'sms' })).toBe(429);
  });
});

type Loud = Awaited<ReturnType<typeof loudService>>;
/** A call for each function that logs an event, whose line names the stage. */
const LOGGED: Readonly<Record<FunctionName, (service: Loud) => unknown>> = {
  'request-registration': (service) => registerAnybody(service),
  'confirm-registration': (service) => confirm(service),
  'create-tp5-account': (service) => openFor(service, 'tp5'),
  'create-tp4-account': (service) => openFor(service, 'tp4'),
  'settle-operations': async ({ tick, refuse }) => {
    await refuse('registrations');
    await tick();
    await refuse(undefined);
  },
  'notify-crm': (service) => openFor(service, 'tp5'),
};

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
