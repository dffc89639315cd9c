import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVERYTHING, functions, plain, resources, synthesize } from '../../support/stack.ts';

let full: Template;

beforeAll(() => {
  full = synthesize(EVERYTHING);
});

describe('Fixed egress', () => {
  it('routes every call of the account functions through one address, which is an output and outlives the network', () => {
    full.resourceCountIs('AWS::EC2::NatGateway', 1);
    const [nat] = Object.values(resources(full, 'AWS::EC2::NatGateway'));
    expect(plain(nat?.Properties.AllocationId)).toBe('<EgressAddress.AllocationId>');
    full.hasResource('AWS::EC2::EIP', { DeletionPolicy: 'RetainExceptOnCreate' });
    expect(plain(full.findOutputs('EgressIpAddress').EgressIpAddress?.Value)).toBe('<EgressAddress.PublicIp>');
    for (const name of ['CreateTp5Account', 'CreateTp4Account']) {
      const { SubnetIds } = plain(functions(full)[name]?.Properties.VpcConfig) as { SubnetIds: string[] };
      expect(SubnetIds).toHaveLength(2);
      for (const id of SubnetIds) expect(id).toContain('PrivateSubnet');
    }
  });

  it('can reuse an earlier address, even without its network', () => {
    const again = synthesize({ vpc: true, egressAllocationId: 'eipalloc-0a1b2c3d' });
    again.resourceCountIs('AWS::EC2::EIP', 0);
    again.hasResourceProperties('AWS::EC2::NatGateway', { AllocationId: 'eipalloc-0a1b2c3d' });
    again.hasOutput('EgressAllocationId', { Value: 'eipalloc-0a1b2c3d' });
  });

  it('outputs the route tables for other networks', () => {
    const { Value } = full.findOutputs('RouteTableIds').RouteTableIds as { Value: unknown };
    expect(String(plain(Value)).split(',')).toEqual([
      expect.stringMatching(/^<EgressVpcPrivateSubnet1RouteTable\w+>$/),
      expect.stringMatching(/^<EgressVpcPrivateSubnet2RouteTable\w+>$/),
    ]);
  });

  it('leaves registration outside, and the database off the NAT', () => {
    expect(functions(full).RequestRegistration?.Properties.VpcConfig).toBeUndefined();
    const [endpoint] = Object.values(resources(full, 'AWS::EC2::VPCEndpoint'));
    expect(plain(endpoint?.Properties)).toMatchObject({
      VpcEndpointType: 'Gateway',
      ServiceName: 'com.amazonaws.<AWS::Region>.dynamodb',
    });
  });

  it('allows no inbound traffic', () => {
    full.resourceCountIs('AWS::EC2::SecurityGroupIngress', 0);
    const [group] = Object.values(resources(full, 'AWS::EC2::SecurityGroup'));
    expect(group?.Properties.SecurityGroupIngress).toBeUndefined();
  });

  it('takes the network that is asked for', () => {
    const joined = synthesize({ vpc: true, vpcCidr: '172.20.8.0/22' });
    joined.hasResourceProperties('AWS::EC2::VPC', { CidrBlock: '172.20.8.0/22' });
  });
});
