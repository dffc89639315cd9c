import { describe, expect, it } from 'vitest';
import type { CrmItem } from '../../../infra/crm/crm-items.ts';
import { type ConfirmedRegistration, LocalCrm } from '../../../infra/local/local-crm.ts';
import type { BusEvent } from '../../../infra/local/stand-ins/events.ts';

const REGISTRATION: ConfirmedRegistration = {
  email: 'Nia@example.com',
  name: 'Nia Newman',
  phone: '+447400123456',
  language: 'de',
};

function event(detail: Record<string, unknown> = {}): BusEvent {
  return {
    version: '0',
    id: 'e-1',
    'detail-type': 'RegistrationConfirmed',
    source: 'broker.api',
    account: '000000000000',
    time: '2026-11-22T10:00:00Z',
    region: 'eu-west-1',
    resources: [],
    detail: { id: 'r-1', email_taken: false, ...detail },
  };
}

function world(registration: ConfirmedRegistration | undefined = REGISTRATION) {
  const written: CrmItem[] = [];
  const crm = new LocalCrm({
    read: async (id) => (id === 'r-1' ? registration : undefined),
    write: async (items) => void written.push(...items),
  });
  return { crm, written };
}

describe('the local CRM', () => {
  it('makes a client of a confirmed registration, who is found by id, address and phone', async () => {
    const { crm, written } = world();
    await crm.receive(event());
    const [client] = crm.clients();
    expect(client).toMatchObject({
      id: expect.stringMatching(/^C[0-9A-F]{7}$/),
      name: 'Nia Newman',
      email: 'Nia@example.com',
      registration_id: 'r-1',
    });
    expect(written).toEqual([
      {
        pk: `client#${client?.id}`,
        e164: '+447400123456',
        record: {
          id: client?.id,
          email: 'Nia@example.com',
          name: 'Nia Newman',
          language: 'de',
          phone: { country_code: '44', number: '7400123456' },
          country: 'GB',
        },
      },
      { pk: 'email#nia@example.com', client_id: client?.id },
      { pk: 'phone#+447400123456', client_ids: [client?.id] },
    ]);
  });

  it('creates one client, also after several events', async () => {
    const { crm } = world();
    await crm.receive(event());
    await crm.receive(event());
    expect(crm.clients()).toHaveLength(1);
  });

  it('creates no client if the email address already belongs to one', async () => {
    const { crm, written } = world();
    await crm.receive(event({ email_taken: true }));
    expect([crm.clients(), written]).toEqual([[], []]);
  });

  it('needs neither a phone nor a language', async () => {
    const { crm, written } = world({ email: 'nia@example.com', name: 'Nia' });
    await crm.receive(event());
    expect(written[0]?.record).toEqual({ id: expect.any(String), email: 'nia@example.com', name: 'Nia' });
  });

  it('complains of a registration that is gone', async () => {
    const { crm } = world();
    await expect(crm.receive(event({ id: 'r-2' }))).rejects.toThrow('gone');
    expect(crm.clients()).toEqual([]);
  });
});
