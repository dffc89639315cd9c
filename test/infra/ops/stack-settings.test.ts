import { describe, expect, it } from 'vitest';
import { PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
import { cdkJsonOf } from '../../support/operators.ts';
import { OperatorsStack, policyRights, SETTINGS } from '../../support/operators-stack.ts';

const stack = new OperatorsStack({ operators: policyRights('operators', 'OperatorsPolicy') });

/** What the stack was deployed with, by the command line. */
const DEPLOYED = {
  ...SETTINGS,
  senderAddress: 'no-reply@deployed.example',
  channels: 'email',
  phone: undefined,
  ...Object.fromEntries(PHONE_CHANNELS.map((name) => [name, undefined])),
  platformSecrets: 'deployed/',
  captcha: { provider: 'turnstile', secret: 'broker-api/test/deployed' },
};
/** What cdk.json has, for another stage and for the next deployment. */
const WRITTEN = {
  stage: 'prod',
  senderAddress: 'no-reply@written.example',
  channels: 'email,sms',
  'phone.countries': 'GB',
  captcha: { provider: 'turnstile', secret: 'broker-api/prod/written' },
};
const cdkJson = cdkJsonOf(WRITTEN);

const SERVER = {
  ...{ id: 'tp5-x', name: 'X', platform: 'tp5', protocol: 'web-api', host: 'mt5.example.com', port: 443, demo: false },
  ...{ logins: { from: 700_000, to: 799_999 }, secret: 'deployed/tp5-x' },
};

/** @param shown the settings that the stack carries @param caller absent: every right */
async function run(command: string, shown: object | undefined, caller?: string) {
  stack.settings = shown;
  const file = await stack.operators.fileOf({ connections: [SERVER] });
  const person = { cdkJson, input: 'key', ...(caller && { caller }) };
  return stack.crm(command.replace('FILE', file), person).finally(() => {
    stack.settings = SETTINGS;
  });
}

async function doctor(shown: object | undefined, file = cdkJson) {
  stack.settings = shown;
  const { results } = await stack.doctor({ cdkJson: file }).finally(() => {
    stack.settings = SETTINGS;
  });
  return results;
}

/** Each command with what it says of the stack's settings. */
const ROWS: readonly [command: string, deployed: RegExp][] = [
  ['secret put broker-api/test/deployed', /^The secret broker-api\/test\/deployed is /],
  ['secret rotate crmWebhook', /^whsec_/],
];

describe('A command on a stack whose settings are not those of cdk.json', () => {
  it.each(ROWS)('%s uses the settings of the stack', async (command, deployed) => {
    const { out, reported } = await run(command, DEPLOYED);
    expect(out).toMatch(deployed);
    expect(reported).not.toMatch(/cdk\.json/);
  });

  it('refuses a stack that does not show its settings, and says what to do', async () => {
    const { code, reported } = await run('secret rotate crmWebhook', undefined);
    expect([code, reported]).toEqual([1, expect.stringContaining('does not show its settings: deploy this version')]);
  });

  it('stores the secret of a setting that is not deployed yet, and refuses a setting that names two secrets', async () => {
    const { captcha: _, ...without } = DEPLOYED;
    expect((await run('secret put captcha.secret', without)).out).toMatch(/^The secret broker-api\/prod\/written is /);
    const two = await run('secret put captcha.secret', DEPLOYED);
    expect(two.code).toBe(1);
    expect(two.reported).toContain(
      'captcha.secret is broker-api/test/deployed in the stack and broker-api/prod/written in cdk.json',
    );
  });
});

describe('The doctor of a stack whose settings are not those of cdk.json', () => {
  const subjects = (results: Awaited<ReturnType<typeof doctor>>) => results.map(({ subject }) => subject);

  it('uses the settings of the stack', async () => {
    const found = subjects(await doctor(DEPLOYED));
    expect(found).toEqual(expect.arrayContaining(['mail identity no-reply@deployed.example', 'secret captcha.secret']));
    expect(found).not.toContain('message sandbox');
    expect(found).not.toContain('settings');
  });

  it('names the settings of cdk.json that are not deployed, if it is about the same stage', async () => {
    const results = await doctor(DEPLOYED, cdkJsonOf({ ...DEPLOYED, confirmedDays: 40 }));
    const detail = 'cdk.json has others, which are not deployed: confirmedDays';
    expect(results).toContainEqual(expect.objectContaining({ subject: 'settings', state: 'warning', detail }));
  });
});
