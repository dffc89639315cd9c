import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVERYTHING, functions, plain, resources, synthesize } from '../../support/stack.ts';

let full: Template;

beforeAll(() => {
  full = synthesize(EVERYTHING);
});

describe('Fixed egress', () => {
  it('leads every call of the account functions through one address, which is told and outlives the network', () => {
    full.resourceCountIs('AWS::EC2::NatGateway', 1);
    const [nat] = Object.values(resources(full, 'AWS::EC2::NatGateway'));
    expect(plain(nat?.Properties.AllocationId)).toBe('<EgressAddress.AllocationId>');
    full.hasResource('AWS::EC2::EIP', { DeletionPolicy: 'Retain' });
    expect(plain(full.findOutputs('EgressIpAddress').EgressIpAddress?.Value)).toBe('<EgressAddress.PublicIp>');
    for (const name of ['CreateTp5Account', 'CreateTp4Account']) {
      const { SubnetIds } = plain(functions(full)[name]?.Properties.VpcConfig) as { SubnetIds: string[] };
      expect(SubnetIds).toHaveLength(2);
      for (const id of SubnetIds) expect(id).toContain('PrivateSubnet');
    }
  });

  it('leaves registration where it was, and the database off the NAT', () => {
    expect(functions(full).RequestRegistration?.Properties.VpcConfig).toBeUndefined();
    const [endpoint] = Object.values(resources(full, 'AWS::EC2::VPCEndpoint'));
    expect(plain(endpoint?.Properties)).toMatchObject({
      VpcEndpointType: 'Gateway',
      ServiceName: 'com.amazonaws.<AWS::Region>.dynamodb',
    });
  });

  it('lets nobody in', () => {
    full.resourceCountIs('AWS::EC2::SecurityGroupIngress', 0);
    const [group] = Object.values(resources(full, 'AWS::EC2::SecurityGroup'));
    expect(group?.Properties.SecurityGroupIngress).toBeUndefined();
  });

  it('takes the network that is asked for', () => {
    const joined = synthesize({ vpc: true, vpcCidr: '172.20.8.0/22' });
    joined.hasResourceProperties('AWS::EC2::VPC', { CidrBlock: '172.20.8.0/22' });
  });
});
