import {
  DeleteSuppressedDestinationCommand,
  GetMessageInsightsCommand,
  GetSuppressedDestinationCommand,
  SESv2Client,
  type SESv2ClientConfig,
} from '@aws-sdk/client-sesv2';
import { orAbsent } from './explain.ts';

/** SES refuses an id that is not one of its own, as other providers give them. */
const NO_MAIL = /^(NotFound|BadRequest)Exception/;

/** What SES knows about addresses and emails. */
export type MailAccount = ReturnType<typeof mailAccount>;

export function mailAccount(config: SESv2ClientConfig) {
  // Insights may be asked for once a second: the client waits and asks again.
  const client = new SESv2Client({ maxAttempts: 8, ...config });

  return {
    /**
     * An address to which SES accepts emails and delivers none: its reason, `BOUNCE` or `COMPLAINT`, and since when.
     * @param address SES compares its local part exactly: the list may have another spelling
     */
    async suppressed(address: string) {
      const command = new GetSuppressedDestinationCommand({ EmailAddress: address });
      const found = (await orAbsent(client.send(command)))?.SuppressedDestination;
      if (found === undefined) return undefined;
      return { address, reason: String(found.Reason), since: found.LastUpdateTime?.toISOString() ?? '' };
    },

    async unsuppress(address: string): Promise<void> {
      await orAbsent(client.send(new DeleteSuppressedDestinationCommand({ EmailAddress: address })));
    },

    /**
     * The events of an email, oldest first, such as `delivery 2026-11-23T10:15:00.000Z`.
     * @returns undefined without Virtual Deliverability Manager, and in the first minutes with it
     */
    async events(messageId: string): Promise<string[] | undefined> {
      const found = await orAbsent(client.send(new GetMessageInsightsCommand({ MessageId: messageId })), NO_MAIL);
      return found?.Insights?.flatMap(({ Events = [] }) =>
        Events.map(({ Type = '', Timestamp, Details }) =>
          [
            Type.toLowerCase().replaceAll('_', ' '),
            Timestamp?.toISOString(),
            Details?.Bounce?.BounceSubType ?? Details?.Complaint?.ComplaintSubType,
          ]
            .filter((one) => one !== undefined)
            .join(' '),
        ),
      );
    },

    close: () => client.destroy(),
  };
}
