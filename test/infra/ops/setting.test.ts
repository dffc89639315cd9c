import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { changeSettings } from '../../../infra/ops/setting.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const BEFORE = { app: 'node infra/app.ts', context: { 'cli-telemetry': false } };

/** A `cdk.json` of the test, and its content after changes. */
function cdkJson(before: object = BEFORE) {
  const file = join(temporaryFolder('settings'), 'cdk.json');
  writeFileSync(file, JSON.stringify(before));
  return { change: (...args: string[]) => changeSettings(args, file), text: () => readFileSync(file, 'utf8') };
}

it('npm run setting writes parsed settings into cdk.json, next to the entries of CDK', () => {
  const { change, text } = cdkJson();
  const result = change(
    'senderAddress=no-reply@acme.example',
    'channels=email,sms',
    'phone.countries=GB',
    'sms.senderId=ACME',
    'limits.recipientMessagesPerHour=3',
    'retainData=false',
  );
  expect(result).toMatchObject({ code: 0, text: expect.stringContaining('"channels": ["email", "sms"]') });
  expect(JSON.parse(text())).toEqual({
    app: 'node infra/app.ts',
    context: {
      'cli-telemetry': false,
      senderAddress: 'no-reply@acme.example',
      channels: ['email', 'sms'],
      phone: { countries: ['GB'] },
      sms: { senderId: 'ACME' },
      limits: { recipientMessagesPerHour: 3 },
      retainData: false,
    },
  });
});

it('npm run setting keeps the other settings; an empty text removes a setting or a group', () => {
  const { change, text } = cdkJson();
  change(
    'senderAddress=no-reply@acme.example',
    'brand.name=Acme',
    'brand.color=#102030',
    'allowedOrigins=https://a.example',
  );
  change('brand.name=', 'stage=test');
  const { context } = JSON.parse(text()) as { context: Record<string, unknown> };
  expect(context).toMatchObject({ brand: { color: '#102030' }, stage: 'test', allowedOrigins: ['https://a.example'] });
  change('brand=', 'allowedOrigins=');
  expect(Object.keys((JSON.parse(text()) as typeof BEFORE).context)).toEqual([
    'cli-telemetry',
    'senderAddress',
    'stage',
  ]);
});

it.each([
  [['channels=email,sms'], 'phone.countries: is required by the channel sms'],
  [['senderAdress=x@acme.example'], 'senderAdress: is no setting'],
  [['a.b.c=1'], 'a: is no setting'],
])('npm run setting does not write %j, and reports every error', (args, error) => {
  const { change, text } = cdkJson();
  expect(change(...args)).toMatchObject({ code: 1, text: expect.stringContaining(error) });
  expect(JSON.parse(text())).toEqual(BEFORE);
});

it('npm run setting prints its usage for other arguments', () => {
  expect(cdkJson().change('--help')).toMatchObject({ code: 2, text: expect.stringContaining('npm run setting') });
  expect(cdkJson().change()).toMatchObject({ code: 0, text: expect.stringContaining('No setting is given yet.') });
});
