import type { CrmFile } from '../../infra/crm/crm-file.ts';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';

/** A person with a unique address and phone in a world. */
export interface Person {
  email: string;
  phone: { country_code: string; number: string };
  /** The stored phone. */
  e164: string;
}

const FIRST_STRANGER = 2_000;

/** No two persons share a mail domain or the prefix of their numbers, which are British mobile ones. */
function personOf(index: number, domain: string): Person {
  const number = String(7_400_001_234 + index * 10_000);
  return { email: `Person${index}@p${index}-${domain}`, phone: { country_code: '44', number }, e164: `+44${number}` };
}

/** The records of the local service with this many more clients, and without trading servers. */
export function crmRecords(clients: number): CrmFile {
  return {
    ...DEMO_RECORDS,
    connections: [],
    clients: [
      ...DEMO_RECORDS.clients,
      ...Array.from({ length: clients }, (_, index) => {
        const { email, phone } = personOf(index + 1, 'clients.example');
        return { id: `KNOWN${String(index + 1).padStart(3, '0')}`, email, name: 'Known', phone };
      }),
    ],
  };
}

/** Persons whose addresses were not used before. */
export function newPersons(clients: number) {
  let used = 0;
  let strangers = 0;
  return {
    stranger(): Person {
      strangers += 1;
      return personOf(FIRST_STRANGER + strangers, 'strangers.example');
    },
    client(): Person {
      used += 1;
      if (used > clients) throw new Error('There are no more clients.');
      return personOf(used, 'clients.example');
    },
  };
}
