import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { installedChannels } from '../../../lib/messages/channels.ts';
import type { OtpChannel } from '../../../lib/messages/message.ts';
import { CHANNEL_OPENERS } from '../../../lib/registration/dependencies.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { DEPLOYED } from '../../support/registration-fakes.ts';
import { failureOf } from '../../support/senders.ts';

const CHANNEL: OtpChannel = { send: async () => ({ messageId: 'm-1' }) };

function settings(channels: Channel[]) {
  return {
    ...DEPLOYED,
    channels,
    call: { originationIdentity: '+441234567890' },
    whatsapp: { phoneNumberId: '', codeTemplate: '', noticeTemplate: '' },
  };
}

function counted() {
  const opened: Channel[] = [];
  const opener = (name: Channel) => async () => {
    opened.push(name);
    return CHANNEL;
  };
  return {
    opened,
    openers: { email: opener('email'), sms: opener('sms'), call: opener('call'), whatsapp: opener('whatsapp') },
  };
}

describe('The installed channels', () => {
  it('are those of the settings', async () => {
    const channel = installedChannels(settings(['email', 'whatsapp']), CHANNEL_OPENERS);
    expect(await channel('whatsapp')).toHaveProperty('send');
    expect(await failureOf(channel('call'))).toMatchObject({ kind: 'misconfigured' });
  });

  it('are opened on first use, once', async () => {
    const { opened, openers } = counted();
    const channel = installedChannels(settings(['email', 'sms', 'call']), openers);
    expect(opened).toEqual([]);
    await Promise.all([channel('call'), channel('call'), channel('email')]);
    expect(opened).toEqual(['call', 'email']);
  });

  it('are not opened if they are not installed', async () => {
    const { opened, openers } = counted();
    const channel = installedChannels(settings(['email']), openers);
    expect(await failureOf(channel('sms'))).toMatchObject({ kind: 'misconfigured' });
    expect(opened).toEqual([]);
  });

  it('are those of AWS by default', async () => {
    const channel = installedChannels(settings([...OTP_TYPES]), CHANNEL_OPENERS);
    for (const name of OTP_TYPES) expect(await channel(name)).toHaveProperty('send');
  });

  it('load at start no SDK client', () => {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({ load(url, context, next) {
        const client = /@aws-sdk\\/(client-(?!dynamodb|secrets)[a-z0-9-]+)\\//.exec(url)?.[1];
        if (client !== undefined) loaded.add(client);
        return next(url, context);
      } });
      const { installedChannels } = await import('./lib/messages/channels.ts');
      const { CHANNEL_OPENERS } = await import('./lib/registration/dependencies.ts');
      const channel = installedChannels(${JSON.stringify(settings([...OTP_TYPES]))}, CHANNEL_OPENERS);
      const atStart = [...loaded];
      await channel('call');
      console.log(JSON.stringify({ atStart, afterCall: [...loaded] }));`;
    const root = new URL('../../..', import.meta.url).pathname;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(JSON.parse(output)).toEqual({
      atStart: [],
      afterCall: ['client-pinpoint-sms-voice-v2'],
    });
  });
});
