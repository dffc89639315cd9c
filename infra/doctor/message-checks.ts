import type { Settings } from '../settings.ts';
import { type Check, missing, warning, works } from './checks.ts';

type MessageSettings = Pick<Settings, 'channels' | 'spend'> & { whatsapp?: Settings['whatsapp'] };

/** Texts, calls and WhatsApp, as far as the deployment has them. */
export function messageChecks(settings: MessageSettings, languages: readonly string[]): Check[] {
  const { channels } = settings;
  const spends = (['sms', 'call'] as const).filter((channel) => channels.includes(channel));
  return [
    ...(spends.length > 0 ? [sandbox] : []),
    ...spends.map((channel) => spend(channel, settings)),
    ...(channels.includes('sms') ? [protection] : []),
    ...templates(settings, languages),
  ];
}

const sandbox: Check = {
  area: 'messages',
  what: 'sandbox',
  look: async (looks) =>
    (await looks.messagingSandbox())
      ? missing(
          'texts and calls reach verified numbers only',
          'leave the sandbox: console, AWS End User Messaging, Overview',
        )
      : works('production access'),
};

const LIMITS = { sms: 'TEXT_MESSAGE_MONTHLY_SPEND_LIMIT', call: 'VOICE_MESSAGE_MONTHLY_SPEND_LIMIT' } as const;

function spend(channel: keyof typeof LIMITS, settings: MessageSettings): Check {
  const alarmAt = channel === 'sms' ? settings.spend.smsUsdPerMonth : settings.spend.callUsdPerMonth;
  return {
    area: 'messages',
    what: `spend of ${channel}`,
    look: async (looks) => {
      const limit = (await looks.spendLimits()).find(({ name }) => name === LIMITS[channel]);
      const enforced = limit?.enforced ?? 0;
      const kind = channel === 'sms' ? 'text' : 'voice';
      const mend = `aws pinpoint-sms-voice-v2 set-${kind}-message-spend-limit-override --monthly-limit ${Math.ceil(alarmAt * 2)}`;
      if (enforced >= alarmAt) return works(`${enforced} USD a month`);
      const says = `${enforced} USD a month, below the alarm at ${alarmAt}: then nobody gets a message any more`;
      return warning(says, `${mend} (at most ${limit?.most ?? 0}; more by Service Quotas)`);
    },
  };
}

const protection: Check = {
  area: 'messages',
  what: 'protect configuration',
  look: async (looks) => {
    const id = await looks.defaultProtectConfiguration();
    if (id !== undefined) return works(`${id} is the account’s default, which SNS obeys`);
    return warning(
      'SNS obeys the account’s default one, and there is none: countries are kept out by this service alone',
      'aws pinpoint-sms-voice-v2 set-account-default-protect-configuration --protect-configuration-id <output ProtectConfigurationId>',
    );
  },
};

function templates({ channels, whatsapp }: MessageSettings, languages: readonly string[]): Check[] {
  if (!channels.includes('whatsapp') || whatsapp === undefined) return [];
  return [whatsapp.codeTemplate, whatsapp.noticeTemplate].map((template) => ({
    area: 'whatsapp',
    what: `template ${template}`,
    look: async (looks) => {
      const approved = await looks.approvedLanguages(template);
      const lacking = languages.filter((language) => !approved.includes(language));
      if (lacking.length === 0) return works(`approved in all ${languages.length} languages`);
      return missing(
        `is not approved in ${lacking.join(', ')}`,
        'have Meta approve it there: console, AWS End User Messaging Social',
      );
    },
  }));
}
