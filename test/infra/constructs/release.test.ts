import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVERYTHING, plain, resources, synthesize } from '../../support/stack.ts';

let template: Template;
let full: Template;

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
});

describe('A new version', () => {
  const aliases = (of: Template) => Object.values(resources(of, 'AWS::Lambda::Alias'));

  it('is what callers get at once, by the name of live, and the old ones stay', () => {
    expect(aliases(template).map(({ Properties }) => Properties.Name)).toEqual(Array(4).fill('live'));
    for (const { UpdatePolicy } of aliases(template)) expect(UpdatePolicy).toBeUndefined();
    for (const { DeletionPolicy } of Object.values(resources(template, 'AWS::Lambda::Version'))) {
      expect(DeletionPolicy).toBe('Retain');
    }
    template.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', 0);
    const called = Object.values(resources(template, 'AWS::ApiGatewayV2::Integration')).map(({ Properties }) =>
      plain(Properties.IntegrationUri),
    );
    expect(called).toHaveLength(3);
    for (const uri of called) expect(uri).toMatch(/Live/);
  });

  it('takes over step by step with the setting canary, and is rolled back by the alarms of its function', () => {
    const made = synthesize({ release: 'canary' });
    const groups = Object.values(resources(made, 'AWS::CodeDeploy::DeploymentGroup')).map(
      ({ Properties }) => Properties,
    );
    expect(groups).toHaveLength(3);
    for (const group of groups) {
      expect(group.DeploymentConfigName).toBe('CodeDeployDefault.LambdaCanary10Percent5Minutes');
      expect(group.AutoRollbackConfiguration).toMatchObject({
        Enabled: true,
        Events: expect.arrayContaining(['DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_FAILURE']),
      });
      const { Alarms } = plain(group.AlarmConfiguration) as { Alarms: { Name: string }[] };
      const names = Alarms.map(({ Name }) => /^<Alarms(InternalErrors|Crashes|NearDeadline)(\w+)\w{8}>$/.exec(Name));
      expect(new Set(names.map((name) => name?.[1])).size).toBe(3);
      expect(new Set(names.map((name) => name?.[2])).size).toBe(1);
    }
    // The settler has no callers to spare.
    const policies = aliases(made).map(({ UpdatePolicy }) => UpdatePolicy);
    const shifted = policies.filter((policy) => policy !== undefined);
    expect(policies).toHaveLength(4);
    expect(shifted).toEqual(Array(3).fill(expect.objectContaining({ CodeDeployLambdaAliasUpdate: expect.anything() })));
  });

  it('has as many environments warm as the settings say', () => {
    const warm = (of: Template) => aliases(of).map(({ Properties }) => Properties.ProvisionedConcurrencyConfig);
    expect(warm(template)).toEqual(Array(4).fill(undefined));
    const counts = [1, 1, 2, 2].map((ProvisionedConcurrentExecutions) => ({ ProvisionedConcurrentExecutions }));
    expect(warm(full)).toEqual(expect.arrayContaining(counts));
  });
});
