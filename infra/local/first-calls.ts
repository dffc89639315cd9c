import type { CrmFile } from '../ops/crm-file.ts';
import { LOCAL_HOST } from '../ops/record-rules.ts';

export interface FirstCall {
  path: string;
  body: Record<string, unknown>;
}

/** Calls that work with the records the service has, for a person's first try; absent if no record fits. */
export interface FirstCalls {
  registration?: FirstCall;
  account?: FirstCall;
}

/** Picks a form without required fields, a client, and a simulated live server that lists its groups. */
export function firstCalls({ forms, clients, connections }: Omit<CrmFile, 'local_secrets'>): FirstCalls {
  const form = forms.find(({ fields }) => fields.every(({ required }) => required !== true));
  const client = clients[0];
  const connection = connections.find(({ host, demo, groups }) => host === LOCAL_HOST && !demo && groups !== undefined);
  const { id, platform, groups = [] } = connection ?? {};
  const group = Array.isArray(groups) ? groups[0] : Object.keys(groups)[0];
  const password = 'correct horse';
  const person = { email: 'nia@example.com', type: 'trader', name: 'Nia Newman', otp_type: 'email', password };
  const calls: FirstCalls = {};
  if (form !== undefined) {
    const body = { ...person, repeat_password: password, form_id: form.id };
    calls.registration = { path: '/public/v1/account/register/request', body };
  }
  if (client !== undefined && group !== undefined) {
    const body = { connection_id: id, group, leverage: 100, send_email: true, send_pop_up: true };
    calls.account = { path: `/public/v1/users/${client.id}/${platform}/accounts`, body };
  }
  return calls;
}
