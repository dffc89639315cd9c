import type * as v from 'valibot';
import { expect, it } from 'vitest';
import { formJsonSchema } from '../../../infra/ops/form.ts';
import type { AccountDependencies } from '../../../lib/openings/dependencies.ts';
import { platformConnections } from '../../../lib/platform/connections.ts';
import { TextProtocolPlatform } from '../../../lib/platform/tp4/text-protocol.ts';
import { WebApiPlatform } from '../../../lib/platform/tp5/web-api.ts';
import { clientItem } from '../../../lib/records/crm-clients.ts';
import {
  type AccountType,
  type Client,
  type Connection,
  maySend,
  StoredAccountTypeSchema,
  StoredClientSchema,
  StoredConnectionSchema,
  type TextProtocolConnection,
  type TextProtocolSecret,
  TextProtocolSecretSchema,
  type WebApiSecret,
  WebApiSecretSchema,
} from '../../../lib/records/crm-records.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import { type Form, type FormField, StoredFormSchema } from '../../../lib/validators/form.ts';
import { checkCustomFields } from '../../../lib/validators/registration.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { OpeningScene } from '../../support/opening-scene.ts';
import { CLIENT_ANN } from '../../support/openings.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { DOCUMENTS } from '../../support/registration-scene.ts';
import { aServer, MASTER_PASSWORD } from '../../support/text-protocol.ts';
import { noteReads } from '../../support/watched.ts';
import { connectionTo, MANAGER, testServer } from '../../support/web-api.ts';

/** Returns a record that notes the members that are read by name. */
type Note = <T extends object>(record: T) => T;

/** The members of a record, and uses of one record that need all of them. */
type Row = [kind: string, members: readonly string[], use: (note: Note) => Promise<unknown>];

const memberNames = ({ entries }: { entries: v.ObjectEntries }) => Object.keys(entries);
/** Members of an account type that no use reads: the key of its item has the id, and the name is for people. */
const UNUSED = ['id', 'name'];

const DEMO: Connection = { ...LIVE, demo: true };
const FUNDED: AccountType = { id: 'ATDEMO05', platform: 'tp5', deposit: 100 };
const BODY = { send_email: true, send_pop_up: true, account_type_id: FUNDED.id, rebate_user_id: CLIENT_ANN.id };

/** Openings of demo accounts with a deposit and notices. */
async function openingScene(
  { connection = DEMO, ...records }: { connection?: Connection; client?: typeof CLIENT_ANN; accountType?: AccountType },
  changes: Partial<AccountDependencies> = {},
): Promise<OpeningScene> {
  const found = { client: CLIENT_ANN, connection, accountType: FUNDED, rebateUser: CLIENT_ANN, ...records };
  const directory = { readAccountRecords: async () => found };
  const scene = await OpeningScene.create(connection, { directory, ...changes });
  scene.now = Date.now();
  return scene;
}

const WEB_API_SECRET: WebApiSecret = MANAGER;
const TEXT_SECRET: TextProtocolSecret = { master: MASTER_PASSWORD };
/** A demo connection of each protocol that leads to a simulated server, and its secret. */
const SERVERS: Record<Connection['protocol'], () => Promise<readonly [Connection, secret: object]>> = {
  'web-api': async () => [connectionTo(await testServer(), { demo: true, groups: LIVE.groups }), WEB_API_SECRET],
  'web-registration': () => simulatedText('web-registration', PLUG_IN),
  'interface-gateway': () => simulatedText('interface-gateway', GATEWAY),
};

async function simulatedText(dialect: TextProtocolConnection['protocol'], example: Connection) {
  const { port } = await aServer({ dialect });
  return [{ ...example, demo: true, host: '127.0.0.1', port }, TEXT_SECRET] as const;
}

const CONNECTIONS = StoredConnectionSchema.options.map((schema): Row => {
  const protocol = schema.entries.protocol.literal;
  const use = async (note: Note) => {
    const [connection, secret] = await SERVERS[protocol]();
    const noted = note(connection);
    const platform = platformConnections({ readSecret: async () => JSON.stringify(secret) });
    const accountType = { ...FUNDED, platform: connection.platform, deposit: 0 };
    const scene = await openingScene({ connection: noted, accountType }, { platform });
    scene.connection = connection;
    expect(await scene.open('one', BODY)).toBeTypeOf('number');
    const server = await platform(noted, NEVER_ABORTED);
    if (server.keyed) await server.look(1, 'another', NEVER_ABORTED);
  };
  return [`connection of ${protocol}`, memberNames(schema), use];
});

/** A registration by a form with a field of every type. */
async function useForm(noteForm: Note, noteField: Note): Promise<void> {
  const fields = CUSTOM_FIELD_TYPES.map((type): FormField => noteField({ key: type, type }));
  const form: Form = noteForm({ id: 'FORM0001', fields });
  formJsonSchema(form);
  await checkCustomFields(form, { boolean: true, select: 'a choice', document: DOCUMENTS.d0cUpl });
}

const asItIs: Note = (record) => record;

it.each<Row>([
  ...CONNECTIONS,
  [
    'client',
    memberNames(StoredClientSchema),
    async (note) => {
      const client: Client = { id: 'CLIENT01', name: 'Ann', email: 'ann@example.com' };
      await clientItem(note(client));
      await (await openingScene({ client: note(CLIENT_ANN) })).open('one', BODY);
    },
  ],
  [
    'account type',
    memberNames(StoredAccountTypeSchema).filter((name) => !UNUSED.includes(name)),
    async (note) => (await openingScene({ accountType: note(FUNDED) })).open('one', BODY),
  ],
  ['form', memberNames(StoredFormSchema), (note) => useForm(note, asItIs)],
  ['form field', memberNames(StoredFormSchema.entries.fields.item), (note) => useForm(asItIs, note)],
  [
    'secret of web-api',
    memberNames(WebApiSecretSchema),
    async (note) => {
      const secret = note(WEB_API_SECRET);
      maySend(secret, LIVE);
      await new WebApiPlatform(connectionTo(await testServer()), secret).ready(NEVER_ABORTED);
    },
  ],
  [
    'secret of the text protocols',
    memberNames(TextProtocolSecretSchema),
    async (note) => {
      const secret = note(TEXT_SECRET);
      maySend(secret, GATEWAY);
      return new TextProtocolPlatform(GATEWAY as TextProtocolConnection, secret);
    },
  ],
])('A record of this kind has no member that nothing reads: %s', async (_, members, use) => {
  const read = new Set<string>();
  await use((record) => noteReads(record, read));
  expect(members.filter((name) => !read.has(name))).toEqual([]);
});
