import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { changeSettings } from '../../infra/ops/setting.ts';
import { readSettings } from '../../infra/settings.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { postJson } from '../support/local-service.ts';
import { cdkJsonOf, Operators, runOperatorsCommand, unknownOperation } from '../support/operators.ts';
import { KEY_ATTRIBUTES, restoredTable } from '../support/restored-tables.ts';
import { synthesize } from '../support/stack.ts';

/** In an operator's order: erasures come last. */
const NAMES = ['deploying', 'bots', 'crm', 'trading-servers', 'message-provider', 'runbook', 'restore', 'data'];
const PAGE = NAMES.map((name) => readFileSync(new URL(`../../infra/docs/${name}.md`, import.meta.url), 'utf8')).join(
  '\n',
);

/** The commands of the pages that begin like this, in their order; a backslash at the end continues a line. */
function commands(begin: string): string[] {
  const text = PAGE.replaceAll(/ \\\n\s+/g, ' ');
  const found = [...text.matchAll(new RegExp(`\\b${begin}(?: [^\\n\`#]*)?`, 'g'))].map(([command]) => command.trim());
  return found.map((command) => command.split(' && ', 1)[0] ?? '');
}

/** The values that the pages abbreviate with dots. */
const OPEN: Record<string, string> = {
  crmWebhook: 'https://crm.acme.example/events',
  vpcCidr: '10.9.0.0/20',
  egressAllocationId: 'eipalloc-0a1b2c3d',
  'customDomain.certificateArn': 'arn:aws:acm:eu-west-1:111122223333:certificate/1',
  'call.originationIdentity': 'phone-0a1b',
  'whatsapp.phoneNumberId': 'phone-number-id-0a1b',
  'whatsapp.codeTemplate': 'code',
  'whatsapp.noticeTemplate': 'notice',
};
const filled = (words: string) =>
  words
    .split(' ')
    .map((word) => (word.endsWith('…') ? `${word.split('=', 1)}=${OPEN[word.split('=')[0] ?? '']}` : word));

const SECRETS_OF_THE_PAGE = [
  'captcha.provider=turnstile',
  'captcha.secret=broker-api/prod/captcha',
  'front.header=x-front',
  'front.secret=broker-api/prod/front',
  'crmWebhook=https://crm.acme.example/events',
  'channels=email,sms',
  'phone.countries=GB',
  'provider.sms=https://messages.acme.example/sms',
];

describe('The settings of the pages, written as they say', () => {
  const all = commands('npm run setting --').map((command) => command.replace('npm run setting -- ', ''));
  const changes = all.filter((words) => !words.startsWith('name='));

  it('are valid one after the other, and make a stack', () => {
    const file = cdkJsonOf({});
    expect(changes.length).toBeGreaterThan(13);
    for (const words of changes) {
      const before = readFileSync(file);
      expect({ words, ...changeSettings(filled(words), file) }).toMatchObject({ words, code: 0 });
      // An alternative to the step before: the next step continues from there.
      if (/jwtIssuer|machineClients|captcha=$|provider\./.test(words)) writeFileSync(file, before);
    }
    const { context } = JSON.parse(readFileSync(file, 'utf8')) as { context: Record<string, unknown> };
    const flags = { vpc: true, callerRoles: ['crm-backend'], defaultEndpoint: false, confirmation: true };
    expect(context).toMatchObject({ ...flags, customDomain: {}, sms: {}, call: {}, whatsapp: {}, front: {} });
    synthesize({ ...context, channels: [...OTP_TYPES] }).hasOutput('ApiUrl', {});
  });

  it('allow a further stage', () => {
    const [deploy = ''] = commands('npm run deploy --').filter((command) => command.includes('-c stage'));
    const taken = [deploy, ...[...PAGE.matchAll(/`(-c [^`]+)`/g)].map(([, words]) => words)].join(' ');
    const given = [...taken.matchAll(/-c ([\w.]+)=(\S*)/g)].map(([, name = '', value = '']) => [name, value]);
    const file = cdkJsonOf({});
    for (const words of changes.filter((one) => /^(senderAddress|customDomain|defaultEndpoint|channels)/.test(one)))
      changeSettings(filled(words), file);
    const { context } = JSON.parse(readFileSync(file, 'utf8')) as { context: Record<string, unknown> };
    expect(given.length).toBeGreaterThan(6);
    expect(readSettings({ ...context, ...Object.fromEntries(given) })).toMatchObject({
      stage: 'test',
      retainData: false,
    });
  });
});

describe('The operators’ command, called as the pages say', () => {
  const operators = new Operators();

  /** The CRM file of the pages, with the trading servers of the local service. */
  async function crmFile(): Promise<string> {
    const [, json = ''] = /```json\n(.*?)```/s.exec(PAGE) ?? [];
    const file = JSON.parse(json) as { connections: { id: string }[] };
    const connections = file.connections.map((connection) => {
      const server = operators.service.platforms.get(connection.id);
      return { ...connection, host: '127.0.0.1', port: server?.port, ca: server?.ca };
    });
    return operators.fileOf({ ...file, connections });
  }

  const STORED: Record<string, string> = {
    'tp5-live-1': 'platform/tp5-live-1',
    CONNECTION_ID: 'platform/tp5-live-1',
    passwords: 'broker-api-keys/local/passwords',
  };

  it('works, from the first import to the last erasure', async () => {
    const records = await crmFile();
    const cdkJson = cdkJsonOf({});
    changeSettings(['senderAddress=a@acme.example', ...SECRETS_OF_THE_PAGE], cdkJson);
    const all = commands('npm run ops --')
      .map((command) => command.replace(/\$\(table (\w+)\)/, (_, name: string) => name.toLowerCase()))
      .filter((command) => / --(stack|help)/.test(command));
    expect(all.length).toBeGreaterThan(12);
    // Tables that AWS restored.
    for (const table of Object.keys(KEY_ATTRIBUTES)) await restoredTable(operators, table, `${table}-restored`);
    for (const command of all) {
      const args = command.replace('npm run ops -- ', '').split(' ').filter(Boolean);
      const { id, login } = args.includes('OPERATION_ID') ? await unknownOperation(operators) : { id: '', login: 0 };
      const words: Record<string, string> = {
        'crm.json': records,
        '--stack': '--local',
        $STACK: operators.service.url,
        NAME: operators.service.url,
        OPERATION_ID: id,
        LOGIN: String(login),
        CONNECTION_ID: 'tp5-live-1',
        // The client of a person who walked the guide.
        CLIENT09: 'CLIENT01',
        USER_ID: 'CLIENT01',
      };
      // A secret that the next commands need keeps its value.
      const kept = STORED[args[2] ?? ''];
      const input = kept === undefined ? '{"current":"0123456789abcdef"}' : await operators.stored(kept);
      const { code, reported } = await runOperatorsCommand(
        args.map((arg) => words[arg] ?? arg),
        { input: input ?? '', waits: async () => {}, cdkJson },
      );
      // There is no deposit to settle here: `operations.test.ts` has one.
      expect({ command, reported, code }).toEqual({
        command,
        reported: expect.anything(),
        code: args.includes('--deposit') ? 1 : 0,
      });
    }
  });

  it('answers, asked by the doctor as the pages say', async () => {
    const all = commands('npm run doctor --').map((command) => command.replace(/ --stack \S+/, ''));
    expect(all.length).toBeGreaterThan(6);
    for (const command of new Set(all)) {
      const args = command.replace('npm run doctor --', '').split(' ').filter(Boolean);
      const { results } = await operators.doctor(...args.map((arg) => arg.replace('CONNECTION_ID', 'tp5-live-1')));
      expect(results.filter(({ state }) => state === 'missing')).toEqual([]);
      expect(results.length, command).toBeGreaterThan(1);
    }
  });

  it('leaves a service that accepts the first registration of the pages', async () => {
    await operators.local('import', await crmFile());
    const [, body = ''] = /register\/request" -H '[^']+' -d '(\{[^']+\})'/.exec(PAGE) ?? [];
    const answer = await postJson(operators.service, '/public/v1/account/register/request', JSON.parse(body));
    expect(answer.status).toBe(204);
  });
});
