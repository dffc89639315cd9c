import { SendWhatsAppMessageCommand, SocialMessagingClient } from '@aws-sdk/client-socialmessaging';
import { describe, expect, it } from 'vitest';
import { startSocial } from '../../../../infra/local/stand-ins/social.ts';
import { clientOf, started } from '../../../support/senders.ts';

const PHONE_NUMBER_ID = 'phone-number-id-0a1b2c3d4e5f60718293a4b5c6d7e8f9';
const code = [{ type: 'text', text: '123456' }];
const TEMPLATE = {
  name: 'one_time_password',
  language: { code: 'pt_BR' },
  components: [
    { type: 'body', parameters: code },
    { type: 'button', sub_type: 'url', index: '0', parameters: code },
  ],
};
const MESSAGE = { messaging_product: 'whatsapp', to: '+447400123456', type: 'template', template: TEMPLATE };

async function social() {
  const { standIn, faults, outbox } = await started(startSocial, {
    phoneNumberIds: [PHONE_NUMBER_ID],
    codeTemplates: ['one_time_password'],
    noticeTemplates: ['registration_attempt'],
  });
  const client = new SocialMessagingClient({ ...clientOf(standIn), maxAttempts: 1 });
  const send = (message: object | string, originationPhoneNumberId = PHONE_NUMBER_ID, metaApiVersion = 'v20.0') =>
    client.send(
      new SendWhatsAppMessageCommand({
        originationPhoneNumberId,
        metaApiVersion,
        message: Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)),
      }),
    );
  return { faults, outbox, send };
}

describe('The stand-in of the WhatsApp service', () => {
  it('takes a code on and shows it as its template makes it', async () => {
    const { outbox, send } = await social();
    expect((await send(MESSAGE)).messageId).toMatch(/^[0-9a-f-]{36}$/);
    expect(outbox).toEqual([
      {
        kind: 'whatsapp',
        to: '+447400123456',
        text: '123456 is your verification code. For your security, do not share this code.',
        language: 'pt-BR',
      },
    ]);
  });

  it('takes a notice on, which has no parameters', async () => {
    const { outbox, send } = await social();
    await send({ ...MESSAGE, template: { ...TEMPLATE, name: 'registration_attempt', components: [] } });
    expect(outbox).toMatchObject([{ text: expect.stringContaining('tried to register') }]);
  });

  it.each<[string, object | string]>([
    ['no JSON', 'hello'],
    ['another product', { ...MESSAGE, messaging_product: 'messenger' }],
    ['a free text', { messaging_product: 'whatsapp', to: '+447400123456', type: 'text', text: { body: '123456' } }],
    ['a recipient that is no number', { ...MESSAGE, to: 'ann' }],
    ['an unknown template', { ...MESSAGE, template: { ...TEMPLATE, name: 'others' } }],
    ['an unknown language', { ...MESSAGE, template: { ...TEMPLATE, language: { code: 'pt-BR' } } }],
    [
      'a code without its button',
      { ...MESSAGE, template: { ...TEMPLATE, components: TEMPLATE.components.slice(0, 1) } },
    ],
    ['a button of another type', changedButton({ sub_type: 'copy_code' })],
    ['another code on the button', changedButton({ parameters: [{ type: 'text', text: '654321' }] })],
    ['a code of 16 characters', withCode('1'.repeat(16))],
    ['an empty code', withCode('')],
    ['a notice with parameters', { ...MESSAGE, template: { ...TEMPLATE, name: 'registration_attempt' } }],
  ])('refuses %s', async (_, message) => {
    const { outbox, send } = await social();
    await expect(send(message)).rejects.toMatchObject({ name: 'InvalidParametersException' });
    expect(outbox).toEqual([]);
  });

  it.each([
    ['an unknown number', 'phone-number-id-1', 'v20.0', 'ResourceNotFoundException'],
    ['a malformed number id', '+447400123456', 'v20.0', 'ValidationException'],
    ['a malformed version', PHONE_NUMBER_ID, '20', 'ValidationException'],
  ])('refuses %s', async (_, phoneNumberId, version, name) => {
    const { send } = await social();
    await expect(send(MESSAGE, phoneNumberId, version)).rejects.toMatchObject({ name });
  });

  it('throttles and refuses as the service does', async () => {
    const { faults, send } = await social();
    faults.set({ kind: 'throttled', times: 1 });
    await expect(send(MESSAGE)).rejects.toMatchObject({ name: 'ThrottledRequestException' });
    faults.set({ kind: 'refused', times: 1 });
    await expect(send(MESSAGE)).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });
});

function changedButton(changes: object) {
  const [body, button] = TEMPLATE.components;
  return { ...MESSAGE, template: { ...TEMPLATE, components: [body, { ...button, ...changes }] } };
}

function withCode(text: string) {
  const components = TEMPLATE.components.map((component) => ({ ...component, parameters: [{ type: 'text', text }] }));
  return { ...MESSAGE, template: { ...TEMPLATE, components } };
}
