import { asciiEmail } from '../validators/email.ts';
import type { Brand } from './brand.ts';
import type { Mail } from './providers.ts';

export interface EmailSettings {
  /** An address that SES may send from. */
  senderAddress: string;
  configurationSet?: string | undefined;
}

/** What every mail of the deployment has in common: it comes from the brand, and an answer to it reaches its support. */
export function sentBy(settings: EmailSettings, brand: Brand): Pick<Mail, 'from' | 'replyTo' | 'configurationSet'> {
  return {
    from: { name: brand.name, address: asciiEmail(settings.senderAddress) },
    replyTo: asciiEmail(brand.supportEmail),
    configurationSet: settings.configurationSet,
  };
}
