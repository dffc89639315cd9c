import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { startSes } from '../../../infra/local/stand-ins/ses.ts';
import { sesMailer } from '../../../lib/aws/ses.ts';
import { mailSettings } from '../../../lib/config/deployment.ts';
import { emailChannel } from '../../../lib/messages/email.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { BRAND, startedStandIn } from '../../support/senders.ts';
import { clientSettings } from '../../support/servers.ts';

const CODE = '012345';

async function email({ brand = BRAND, configurationSet }: { brand?: typeof BRAND; configurationSet?: string } = {}) {
  const service = await startedStandIn(startSes, {
    verified: ['no-reply@example.com'],
    configurationSets: ['mails'],
  });
  const settings = { senderAddress: 'no-reply@example.com', configurationSet };
  return { ...service, channel: emailChannel(settings, brand, sesMailer(clientSettings(service.standIn.url))) };
}

describe('The channel email', () => {
  it('mails the code, in text and HTML, and answers with the id of SES', async () => {
    const { channel, outbox } = await email({ configurationSet: 'mails' });
    const { messageId } = await channel.send('Ann.Lee@example.org', CODE, 'es', NEVER_ABORTED);
    expect(messageId).toMatch(/.+/);
    expect(outbox).toHaveLength(1);
    expect(outbox[0]).toMatchObject({ kind: 'email', to: 'Ann.Lee@example.org', language: 'es' });
    expect(outbox[0]?.text).toContain('012345');
    expect(outbox[0]?.html).toContain('012345');
  });

  it('has in each mail only its own code, with any brand', async () => {
    // With the strangest characters that a setting may have.
    const brandName = '{code} & $& \u2028 \u2029';
    expect(v.parse(mailSettings.brand, { name: brandName }).name).toBe(brandName);
    const { channel, outbox } = await email({ brand: { ...BRAND, name: brandName } });
    await channel.send('ann@example.org', CODE, 'en', NEVER_ABORTED);
    await channel.send('ben@example.org', '987654', 'en', NEVER_ABORTED);
    expect(outbox.map(({ text }) => /\b\d{6}\b/g.exec(text)?.[0])).toEqual(['012345', '987654']);
    for (const { text, html } of outbox) {
      expect(text).toContain(brandName);
      expect(html).toContain(brandName.replaceAll('&', '&amp;'));
    }
  });

  it('is prepared without sending anything', async () => {
    const { channel, outbox } = await email();
    await channel.prepare?.('es');
    expect(outbox).toEqual([]);
    await channel.send('ann@example.org', CODE, 'es', NEVER_ABORTED);
    expect(outbox).toHaveLength(1);
  });

  it('sends to an international domain as punycode, the local part as typed', async () => {
    const { channel, outbox } = await email();
    await channel.send('Ann+x@bücher.example', CODE, undefined, NEVER_ABORTED);
    expect(outbox[0]?.to).toBe('Ann+x@xn--bcher-kva.example');
  });

  it('comes from any brand, and a reply reaches its support', async () => {
    const sent: unknown[] = [];
    const channel = emailChannel(
      { senderAddress: 'no-reply@bücher.example' },
      { ...BRAND, name: 'Börse', supportEmail: 'help@bücher.example' },
      async (mail) => {
        sent.push(mail);
        return { messageId: 'm-1' };
      },
    );
    await channel.send('ann@example.org', CODE, 'en', NEVER_ABORTED);
    expect(sent).toMatchObject([
      {
        from: { name: 'Börse', address: 'no-reply@xn--bcher-kva.example' },
        replyTo: 'help@xn--bcher-kva.example',
        kind: 'code',
      },
    ]);
    const { channel: real, outbox } = await email({ brand: { ...BRAND, name: '"Ünïcode" <Märkte>' } });
    await real.send('ann@example.org', CODE, 'en', NEVER_ABORTED);
    expect(outbox).toHaveLength(1);
  });
});
