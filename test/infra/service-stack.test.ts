import { describe, expect, it } from 'vitest';
import { type CfnResource, EVERYTHING, synthesize } from '../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);

describe('The whole stack', () => {
  it('asks for no parameter, and looks nothing up in an account', () => {
    for (const one of [template, full]) {
      expect(Object.keys(one.toJSON().Parameters ?? {})).toEqual(['BootstrapVersion']);
    }
  });

  it('keeps every logical id and its type: with another id, CloudFormation would delete the resource and make a new one', () => {
    const { Resources } = template.toJSON() as { Resources: Record<string, CfnResource> };
    // A permission belongs to its route, a version to its code: neither has data.
    const kept = Object.entries(Resources).filter(([, { Type }]) => !/^AWS::Lambda::(Permission|Version)$/.test(Type));
    expect(Object.fromEntries(kept.map(([id, { Type }]) => [id, Type]))).toMatchSnapshot();
  });
});
