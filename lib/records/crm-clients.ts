import { ConditionFailed, type Item, type Table, type Transact, type Write } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { emailKey } from '../validators/email.ts';
import { parseLeniently } from '../validators/primitives.ts';
import { clientItem } from './client-items.ts';
import { type Client, ClientSchema } from './crm-records.ts';
import { crmKey, readItems } from './crm-table.ts';

/**
 * The outcome of writing a client's record. `refused`: the id or the email address is another client's, and nothing was
 * written.
 */
type Added = 'written' | 'known' | 'refused';

export type CrmClients = ReturnType<typeof dynamoCrmClients>;

/** The number of attempts after concurrent writes. */
const MAX_ATTEMPTS = 4;

/** The number of client ids that one condition compares. */
const MAX_COMPARED = 100;

/** The clients among the CRM records. @param name of the table, for the transaction */
export function dynamoCrmClients(table: Table, name: string, transact: Transact) {
  const put = (item: Item, condition: string, values?: Item): Write => ({
    table: name,
    put: item,
    expression: { condition, ...(values === undefined ? {} : { values }) },
  });

  return {
    /**
     * Writes a new client without a referral code, whose addresses lead to the record. Existing items do not change, so
     * a repeat has no effect.
     * @throws AwsFailure
     */
    async add(client: Omit<Client, 'referral_code'>, signal: AbortSignal): Promise<Added> {
      const item = await clientItem(client);
      const email = crmKey.email(emailKey(client.email));
      const phone = item.e164 && crmKey.phone(item.e164);
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const found = await readItems(table, [item.pk, email, phone], signal);
        const known = found.get(item.pk);
        if (known !== undefined) return isSame(known, client) ? 'known' : 'refused';
        const owner = found.get(email)?.client_id ?? client.id;
        if (owner !== client.id) return 'refused';
        const writes = [
          put({ ...item }, 'attribute_not_exists(pk)'),
          put({ pk: email, client_id: client.id }, 'attribute_not_exists(client_id) OR client_id = :id', {
            ':id': client.id,
          }),
          ...(phone ? [sharePhone(phone, found.get(phone)?.client_ids, client.id)] : []),
        ];
        try {
          await transact(writes, signal);
          return 'written';
        } catch (error) {
          if (!(error instanceof ConditionFailed)) throw error;
        }
      }
      throw new AwsFailure('ClientContended');
    },
  };

  /** The pointer of a phone, for all clients who share it, unless it was changed since. */
  function sharePhone(pk: string, before: unknown, id: string): Write {
    if (!Array.isArray(before))
      return put({ pk, client_ids: [id] }, 'NOT attribute_type(client_ids, :list)', { ':list': 'L' });
    const compared = before.slice(0, MAX_COMPARED).map((one, index): [string, unknown] => [`:id${index}`, one]);
    const condition = ['size(client_ids) = :size', ...compared.map(([name]) => `contains(client_ids, ${name})`)];
    const client_ids = [...new Set([...before, id])].toSorted();
    return put({ pk, client_ids }, condition.join(' AND '), {
      ':size': before.length,
      ...Object.fromEntries(compared),
    });
  }
}

function isSame(known: Item, { email }: Pick<Client, 'email'>): boolean {
  const record = parseLeniently(ClientSchema, known.record);
  return record !== undefined && emailKey(record.email) === emailKey(email);
}
