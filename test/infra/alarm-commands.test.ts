import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { ALL_FUNCTIONS, constructName, FUNCTION_NAMES } from '../../infra/functions.ts';
import { alarmsOf, matchesFilter } from '../support/alarms.ts';
import { bundleInto } from '../support/bundles.ts';
import { EVERYTHING, plainValue, propertiesOf, resourcesOfType, synthesize } from '../support/stack.ts';

const full = synthesize(EVERYTHING);
const pages = alarmsOf(full)
  .filter(({ actions }) => actions.includes('<AlarmTopic>'))
  .map((alarm) => {
    const [, loss = '', show = '', fix = ''] = /^(.+)\nShow: (.+)\nFix: (.+)\nMore: /.exec(alarm.description) ?? [];
    return { ...alarm, loss, show, fix };
  });

/** The outputs that name resources, by the value: the log group or the function. */
const OUTPUTS = Object.fromEntries(
  Object.entries(full.findOutputs('*')).map(([name, { Value }]) => [String(plainValue(Value)), name]),
);

/** Log lines of Lambda and the gateway. */
const OTHER_LINES = {
  crash: { type: 'platform.report', record: { requestId: 'r-1', status: 'error', errorType: 'Runtime.ExitError' } },
  timeout: { type: 'platform.report', record: { requestId: 'r-1', status: 'timeout' } },
  success: { type: 'platform.report', record: { requestId: 'r-1', status: 'success' } },
  503: { request_id: 'r-1', status: '503' },
  204: { request_id: 'r-1', status: '204', route: 'POST /public/v1/account/register/request' },
};
/** Which of the lines an alarm shows, if not those of its event. */
const SHOWN: Record<string, string[]> = {
  ServerErrors: ['503'],
  Silence: ['204'],
  SettlerFails: ['crash', 'timeout'],
  RouteFails: ['crash', 'timeout', 'event'],
};
const isEvent = (metric: string) => /^[A-Z][a-z]+([A-Z][a-z]+)+$/.test(metric) && !metric.startsWith('Approximate');

describe('The text of an alarm that pages', () => {
  it('names the loss and two commands, within CloudWatch’s maximum length', () => {
    expect(pages.length).toBeGreaterThan(10);
    for (const { name, loss, show, fix, description } of pages) {
      expect(loss, name).toMatch(/^[A-Z].{20,}\.$/);
      expect(show, name).toMatch(/^(aws logs tail|npm run crm) /);
      expect(fix, name).toMatch(/^(npm run (crm|doctor)|aws lambda) /);
      expect(description, name).toMatch(/\nMore: infra\/docs\/runbook\.md, \w+$/);
      expect(description.length, name).toBeLessThan(900);
    }
  });

  it('names a command that finds the event in the logs of all functions that can log it', () => {
    const several = pages.filter(({ metric, dimensions }) => metric && isEvent(metric) && !dimensions.service);
    expect(several.map(({ name, show }) => [name, show])).toEqual([
      ['AccountOutcomeUnknown', 'npm run crm -- operations --open --stack broker-api-test'],
    ]);
  });

  it.each(pages.filter(({ name }) => name !== 'AccountOutcomeUnknown'))(
    '$name shows lines of a log that exists, of the event that it counts',
    ({ name, show, metric, dimensions }) => {
      const [, group = '', pattern = ''] =
        /^aws logs tail (\S+) --filter-pattern '([^']+)' --since 1h$/.exec(show) ?? [];
      const output = OUTPUTS[group];
      expect(output).toBeDefined();
      const service = FUNCTION_NAMES.find((one) => kebab(output ?? '') === `${one}-log-group`);
      if (['ServerErrors', 'Silence'].includes(name)) expect(output).toBe('AccessLogGroup');
      else expect(service).toEqual(dimensions.service ?? expect.any(String));
      const isCounted = dimensions.service !== undefined;
      const event = name === 'CrmUndelivered' ? 'CrmNotNotified' : 'InternalError';
      // `operators-walk.test.ts` has the lines that functions log.
      const lines = { ...OTHER_LINES, event: { message: isCounted ? metric : event } };
      const shown = Object.entries(lines)
        .filter(([, line]) => matchesFilter(pattern, line))
        .map(([kind]) => kind);
      expect(shown).toEqual(SHOWN[name.split('-')[0] ?? ''] ?? ['event']);
    },
  );

  function kebab(name: string): string {
    return name.replaceAll(/\B[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
  }
});

describe('The log of a function', () => {
  const code = new Map<string, string>();
  beforeAll(async () => {
    const names = ALL_FUNCTIONS.map(({ name }) => name);
    const folder = await bundleInto(inject('bundles'), ...names);
    for (const name of names) {
      const files = readdirSync(join(folder, name), { encoding: 'utf8', recursive: true }).filter((file) =>
        file.endsWith('.mjs'),
      );
      code.set(name, files.map((file) => readFileSync(join(folder, name, file), 'utf8')).join(''));
    }
  });
  /** Names of members have no quotes in minified code: a quoted name is the argument of a call. */
  const canLog = (service: string, event: string) => new RegExp(`(["'\`])${event}\\1`).test(code.get(service) ?? '');

  it('can hold the event of every alarm of that function, and of every alarm that names no function', () => {
    const counting = alarmsOf(full).filter(
      ({ namespace, metric }) => namespace === 'BrokerApi' && isEvent(metric ?? ''),
    );
    expect(counting.length).toBeGreaterThan(15);
    const cannot = counting.filter(({ metric = '', dimensions }) => {
      const services = dimensions.service === undefined ? [...code.keys()] : [dimensions.service];
      return !services.some((service) => canLog(service, metric));
    });
    expect(cannot.map(({ name }) => name)).toEqual([]);
    expect(canLog('settle-operations', 'OtpSent')).toBe(false);
  });

  it('can hold every event that the runbook searches for in it', () => {
    const runbook = readFileSync(new URL('../../infra/docs/runbook.md', import.meta.url), 'utf8');
    const shown = [...runbook.matchAll(/`events ([A-Z]\w+) ([A-Z][a-z]\w+)`/g)].map(([, name = '', event = '']) => [
      name,
      event,
    ]);
    expect(shown.length).toBeGreaterThan(12);
    const services = new Map(ALL_FUNCTIONS.map((declared) => [constructName(declared), declared.name]));
    expect(shown.filter(([name = '', event = '']) => !canLog(services.get(name) ?? '', event))).toEqual([]);
  });
});

/** The right that AWS asks for, by the command. */
const RIGHTS: Record<string, string> = {
  'logs tail': 'logs:FilterLogEvents',
  'lambda list-versions-by-function': 'lambda:ListVersionsByFunction',
  'lambda update-alias': 'lambda:UpdateAlias',
  'lambda put-function-concurrency': 'lambda:PutFunctionConcurrency',
  'lambda delete-function-concurrency': 'lambda:DeleteFunctionConcurrency',
};

describe('The policy of operators', () => {
  const [policy = ''] = Object.entries(resourcesOfType(full, 'AWS::IAM::ManagedPolicy'))
    .filter(([id]) => id.startsWith('OperatorsPolicy'))
    .map(([, { Properties }]) => JSON.stringify(plainValue(Properties.PolicyDocument)));

  it('allows the AWS commands of every page, on each function and log that they name', () => {
    const commands = pages.flatMap(({ show, fix }) => [show, fix]).filter((command) => command.startsWith('aws '));
    expect(commands.length).toBeGreaterThan(15);
    for (const command of commands) {
      const [, operation = ''] = /^aws (\w+ [\w-]+) /.exec(command) ?? [];
      expect(policy).toContain(RIGHTS[operation] ?? expect.fail(command));
    }
    // CloudFormation begins the names of functions and of their logs with that of the stack.
    for (const one of propertiesOf(full, 'AWS::Lambda::Function')) expect(one).not.toHaveProperty('FunctionName');
    const named = propertiesOf(full, 'AWS::Logs::LogGroup').flatMap(({ LogGroupName = [] }) => LogGroupName);
    expect(named).toEqual([expect.stringContaining('/aws/vendedlogs/broker-api-test/')]);
    for (const resource of [
      'log-group:broker-api-test-*',
      'log-group:/aws/vendedlogs/broker-api-test/*',
      'function:broker-api-test-*',
    ])
      expect(policy).toContain(`:${resource}"`);
  });

  it('is small enough for AWS in a region and a stage with long names', () => {
    const stack = `broker-api-${'s'.repeat(20)}`;
    const arn = (_: string, id: string) =>
      `arn:aws:dynamodb:ap-southeast-1:111122223333:table/${stack}-${id}-0123456789ABC`;
    const deployed = policy
      .replaceAll(/<([^>]+)\.Arn>/g, arn)
      .replaceAll('<AWS::Region>', 'ap-southeast-1')
      .replaceAll('broker-api-test', stack);
    expect(deployed.length).toBeLessThan(6_144);
  });
});

describe('The command that ends the cause of an alarm', () => {
  // `page-commands.test.ts` runs the commands of the runbook.
  const RUNBOOK = readFileSync(new URL('../../infra/docs/runbook.md', import.meta.url), 'utf8');

  it.each(pages)('for $name is in the runbook', ({ fix }) => {
    const command = fix.replace('broker-api-test', '$STACK').replace(/<\w+>/, (value) => `$(output ${OUTPUTS[value]})`);
    expect(anyFunction(RUNBOOK)).toContain(anyFunction(command));
  });

  /** The runbook names one function as an example. */
  function anyFunction(text: string): string {
    return text.replaceAll(/\$\(output \w+Function\)/g, 'FUNCTION');
  }
});
