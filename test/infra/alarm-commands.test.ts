import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { changeSettings } from '../../infra/crm/setting.ts';
import { deploy } from '../../infra/deploy.ts';
import { DEPLOYED_FUNCTIONS } from '../../infra/routes.ts';
import { alarmsOf } from '../support/alarms.ts';
import { STACK } from '../support/aws-account.ts';
import { crm, Operators } from '../support/operators.ts';
import {
  cdkJsonOf,
  OperatorsAccount,
  SETTINGS,
  undeliveredEvent,
  unknownOperation,
} from '../support/operators-account.ts';
import { EVERYTHING, plain, resources, synthesize } from '../support/stack.ts';

const operators = new Operators();
const account = new OperatorsAccount(operators);

const full = synthesize(EVERYTHING);
const pages = alarmsOf(full)
  .filter(({ actions }) => actions.includes('<AlarmTopic>'))
  .map((alarm) => {
    const [, loss = '', show = '', fix = ''] = /^(.+)\nShow: (.+)\nFix: (.+)\nMore: /.exec(alarm.description) ?? [];
    return { ...alarm, loss, show, fix };
  });

/** The outputs that name log groups, by the logical id of the group. */
const LOG_GROUPS = Object.fromEntries(
  Object.entries(full.findOutputs('*'))
    .filter(([name]) => name.endsWith('LogGroup'))
    .map(([name, { Value }]) => [plain(Value), name]),
);

/** Whether a filter pattern of CloudWatch Logs takes a line: comparisons of members with texts, joined by `||`. */
function matches(pattern: string, line: unknown): boolean {
  const [, body = ''] = /^\{ (.+) \}$/.exec(pattern) ?? [];
  return body.split(' || ').some((part) => {
    const [, path = '', wanted = ''] = /^\(?\$\.([\w.]+) = "([^"]+)"\)?$/.exec(part) ?? [];
    const value = path.split('.').reduce<unknown>((one, name) => (one as Record<string, unknown>)?.[name], line);
    const expression = new RegExp(`^${wanted.replaceAll('*', '.*')}$`);
    return path !== '' && typeof value === 'string' && expression.test(value);
  });
}

/** The line that a function logs for this event. */
function logged(event: string): unknown {
  const url = new URL('../../lib/telemetry.ts', import.meta.url).href;
  const script = `(await import(${JSON.stringify(url)})).telemetry('a-function', 'a-stage').event('${event}');`;
  const args = ['--input-type=module', '--eval', script];
  return JSON.parse(execFileSync(process.execPath, args, { env: { PATH: process.env.PATH }, encoding: 'utf8' }));
}

/** Log lines of Lambda and the gateway. */
const OTHER_LINES = {
  crash: { type: 'platform.report', record: { requestId: 'r-1', status: 'error', errorType: 'Runtime.ExitError' } },
  timeout: { type: 'platform.report', record: { requestId: 'r-1', status: 'timeout' } },
  success: { type: 'platform.report', record: { requestId: 'r-1', status: 'success' } },
  503: { request_id: 'r-1', status: '503' },
  204: { request_id: 'r-1', status: '204' },
};

describe('The text of an alarm that pages', () => {
  it('names the loss and two commands, within CloudWatch’s maximum length', () => {
    expect(pages.length).toBeGreaterThan(10);
    for (const { name, loss, show, fix, description } of pages) {
      expect(loss, name).toMatch(/^[A-Z].{20,}\.$/);
      expect(show, name).toMatch(/^aws logs tail /);
      expect(fix, name).toMatch(/^(npm run|git checkout) /);
      expect(description, name).toMatch(/\nMore: infra\/docs\/runbook\.md, \w+$/);
      expect(description.length, name).toBeLessThan(900);
    }
  });

  it.each(pages)(
    '$name shows lines of a log that exists, of the event that it counts',
    ({ name, show, metric, dimensions }) => {
      const [, group = '', pattern = ''] =
        /^aws logs tail (\S+) --filter-pattern '([^']+)' --since 1h$/.exec(show) ?? [];
      const output = LOG_GROUPS[group];
      expect(output).toBeDefined();
      if (dimensions.service !== undefined) expect(kebab(output ?? '')).toBe(`${dimensions.service}-log-group`);
      else
        expect(
          DEPLOYED_FUNCTIONS.some((one) => kebab(output ?? '') === `${one}-log-group`) || name === 'ServerErrors',
        ).toBe(true);
      const lines = {
        ...OTHER_LINES,
        event: logged(
          metric === 'AccountOutcomeUnknown' || dimensions.service !== undefined
            ? String(metric)
            : name === 'CrmUndelivered'
              ? 'CrmNotNotified'
              : 'InternalError',
        ),
      };
      const shown = Object.entries(lines)
        .filter(([, line]) => matches(pattern, line))
        .map(([kind]) => kind);
      const expected = name === 'ServerErrors' ? ['503'] : name === 'SettlerFails' ? ['crash', 'timeout'] : ['event'];
      expect(shown).toEqual(name.startsWith('RouteFails') ? ['crash', 'timeout', 'event'] : expected);
    },
  );

  function kebab(name: string): string {
    return name.replaceAll(/\B[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
  }
});

/** Runs an alarm's command unchanged, in a separate account. */
async function execute(command: string): Promise<string> {
  const { id, login } = await unknownOperation(operators);
  const values: Record<string, string> = {
    CONNECTION_ID: 'tp5-live-1',
    OPERATION_ID: id,
    LOGIN: String(login),
    'broker-api-test': STACK,
  };
  if (command.includes('redeliver')) await undeliveredEvent(operators);
  const done: string[] = [];
  const cdkJson = cdkJsonOf(SETTINGS);
  for (const part of command.split(' && ')) {
    const words = part.split(' ').map((word) => values[word] ?? word);
    const [, , script, dashes, ...args] = words;
    if (part === 'npm ci' || part === 'git checkout GOOD_COMMIT') continue;
    expect([words.slice(0, 2), dashes ?? '--']).toEqual([['npm', 'run'], '--']);
    switch (script) {
      case 'doctor':
        done.push(`${(await account.doctor()).result.results.length > 10}`);
        break;
      case 'crm': {
        const input = (await operators.stored('platform/tp5-live-1')) ?? '';
        const { result } = await account.run(() => crm(args, { cdkJson, input }));
        expect(result.code, result.told).toBe(0);
        done.push(result.out);
        break;
      }
      case 'setting':
        expect(changeSettings(args, cdkJson).code).toBe(0);
        break;
      default:
        expect(script).toBe('deploy');
        await deploy(args, cdkJson, {
          cdk: async (given) => {
            done.push(`cdk ${given.join(' ')}`);
            return 0;
          },
          status: async () => 'UPDATE_COMPLETE',
          protect: async () => {},
          tell: () => {},
        });
    }
  }
  return done.join('\n');
}

describe('The command of an alarm that fixes', () => {
  const EFFECTS: readonly [alarm: RegExp, effect: RegExp][] = [
    [/^(CodesNotSent-email|ServerErrors)$/, /^true$/],
    [/^LimitsUnchecked-/, /^cdk deploy$/],
    [/^PlatformRefused-/, /^The secret platform\/tp5-live-1 is replaced/],
    [/^PlatformUnavailable-/, /^tp5-live-1: connected and logged in/],
    [/^(RouteFails-|SettlerFails)/, /^cdk deploy -c release=all$/],
    [/^CrmUndelivered$/, /^1 event will be delivered again\.$/m],
    [/^AccountOutcomeUnknown$/, /is settled\.$/m],
  ];

  it.each(pages)('$name works unchanged', async ({ name, fix }) => {
    const [, effect] = EFFECTS.find(([alarm]) => alarm.test(name)) ?? [];
    expect(await execute(fix)).toMatch(effect ?? /^no effect is known$/);
  });

  it('rolls back without CodeDeploy, which an alarm that still rings would stop', () => {
    const released = (release: string) => {
      const template = synthesize({ ...EVERYTHING, release });
      const aliases = Object.values(resources(template, 'AWS::Lambda::Alias'));
      return aliases.filter(({ UpdatePolicy }) => UpdatePolicy !== undefined).length;
    };
    expect(released('canary')).toBeGreaterThan(0);
    expect(released('all')).toBe(0);
  });
});
