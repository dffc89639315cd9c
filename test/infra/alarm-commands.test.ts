import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FUNCTION_NAMES } from '../../infra/functions.ts';
import { alarmsOf } from '../support/alarms.ts';
import { EVERYTHING, plain, synthesize } from '../support/stack.ts';

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

/** Whether a filter pattern of CloudWatch Logs matches a line: comparisons of members with texts, joined by `||`. */
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
      const service = FUNCTION_NAMES.find((one) => kebab(output ?? '') === `${one}-log-group`);
      if (name === 'ServerErrors') expect(output).toBe('AccessLogGroup');
      else expect(service).toEqual(dimensions.service ?? expect.any(String));
      const isCounted = metric === 'AccountOutcomeUnknown' || dimensions.service !== undefined;
      const event = name === 'CrmUndelivered' ? 'CrmNotNotified' : 'InternalError';
      const lines = { ...OTHER_LINES, event: logged(isCounted ? String(metric) : event) };
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

describe('The command of an alarm that fixes', () => {
  // `page-commands.test.ts` runs the commands of the runbook.
  const RUNBOOK = readFileSync(new URL('../../infra/docs/runbook.md', import.meta.url), 'utf8');

  it.each(pages)('$name is one of the runbook', ({ fix }) => {
    expect(RUNBOOK).toContain(fix.replace('broker-api-test', '$STACK'));
  });
});
