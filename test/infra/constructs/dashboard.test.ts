import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, resources, synthesize } from '../../support/stack.ts';

/** The graphs of the page, each with its metrics: name, dimensions and options. */
function graphs(settings: Record<string, unknown>): { title: string; metrics: unknown[][] }[] {
  const [dashboard] = Object.values(resources(synthesize(settings), 'AWS::CloudWatch::Dashboard'));
  const joined = dashboard?.Properties.DashboardBody as { 'Fn::Join': [string, unknown[]] } | undefined;
  const body = joined?.['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'x')).join('') ?? '';
  const { widgets } = JSON.parse(body) as { widgets: { properties: { title: string; metrics?: unknown[][] } }[] };
  return widgets.map(({ properties: { title, metrics = [] } }) => ({ title, metrics }));
}

describe('The dashboard', () => {
  it('has a graph for each channel, from the request to the confirmation', () => {
    const found = graphs(EVERYTHING).filter(({ title }) => title.startsWith('Registrations by'));
    expect(found.map(({ title }) => title.split(' ').at(-1))).toEqual(['email', 'sms', 'call', 'whatsapp']);
    for (const { title, metrics } of found) {
      expect(metrics.map(([, name]) => name)).toEqual([
        'RegistrationRequested',
        'OtpSent',
        'RegistrationRefused',
        'RegistrationConfirmed',
        'seconds_to_confirm',
      ]);
      for (const metric of metrics)
        expect(metric).toEqual(expect.arrayContaining(['channel', title.split(' ').at(-1)]));
    }
  });

  it('shows no confirmations without the setting', () => {
    expect(JSON.stringify(graphs({}))).not.toMatch(/Confirmed|seconds_to_confirm/);
  });

  it('shows events that the functions know', () => {
    const known = readFileSync(new URL('../../../lib/telemetry.ts', import.meta.url), 'utf8');
    const ours = graphs(EVERYTHING).flatMap(({ metrics }) =>
      metrics.filter(([namespace]) => namespace === 'BrokerApi'),
    );
    expect(ours.length).toBeGreaterThan(20);
    for (const [, name] of ours) expect(known).toMatch(new RegExp(`^  ${name}: '`, 'm'));
  });
});
