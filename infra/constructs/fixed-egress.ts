import type { RemovalPolicy } from 'aws-cdk-lib';
import {
  CfnEIP,
  FlowLogDestination,
  FlowLogMaxAggregationInterval,
  FlowLogTrafficType,
  GatewayVpcEndpointAwsService,
  IpAddresses,
  type ISecurityGroup,
  type IVpc,
  NatProvider,
  Peer,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import { addOutput } from './stack-names.ts';

export interface FixedEgressProps {
  settings: Settings;
  removalPolicy: RemovalPolicy;
  logRetention: RetentionDays;
}

/**
 * A network with one outbound address, for trading servers that admit listed addresses only. It has one NAT gateway: in
 * an outage of that zone no account can be opened. More zones would mean more addresses in every server's list.
 */
export class FixedEgress extends Construct {
  readonly vpc: IVpc;
  readonly securityGroup: ISecurityGroup;

  constructor(scope: Construct, id: string, props: FixedEgressProps) {
    super(scope, id);
    const allocationId = props.settings.egressAllocationId ?? this.address(props.removalPolicy);
    const vpc = this.network(props, allocationId);
    // The library's types disagree about optional members.
    this.vpc = vpc as IVpc;

    const group = new SecurityGroup(this, 'Functions', {
      vpc: this.vpc,
      description: 'The account functions: outbound TCP to any server, nothing inbound.',
      allowAllOutbound: false,
    });
    group.addEgressRule(Peer.anyIpv4(), Port.allTcp(), 'Trading servers, each on the port of its connection, and AWS');
    this.securityGroup = group;

    const tables = vpc.privateSubnets.map(({ routeTable }) => routeTable.routeTableId).join(',');
    addOutput(
      this,
      'VpcId',
      'The network of the account functions, to be joined with that of trading servers.',
      vpc.vpcId,
    );
    addOutput(this, 'RouteTableIds', 'Of that network: where routes to trading servers are added.', tables);
    addOutput(
      this,
      'EgressAllocationId',
      'To keep the address through another network: setting egressAllocationId.',
      allocationId,
    );
  }

  private network({ settings, logRetention, removalPolicy }: FixedEgressProps, allocationId: string): Vpc {
    const vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr(settings.vpcCidr),
      maxAzs: 2,
      natGateways: 1,
      natGatewayProvider: NatProvider.gateway({ eipAllocationIds: [allocationId] }),
      subnetConfiguration: [
        { name: 'Public', subnetType: SubnetType.PUBLIC, mapPublicIpOnLaunch: false },
        { name: 'Private', subnetType: SubnetType.PRIVATE_WITH_EGRESS },
      ],
      // For this, CDK would add a function with wide rights, and the default group is unused.
      restrictDefaultSecurityGroup: false,
    });
    vpc.addGatewayEndpoint('DynamoDb', { service: GatewayVpcEndpointAwsService.DYNAMODB });
    vpc.addFlowLog('Refused', {
      destination: FlowLogDestination.toCloudWatchLogs(
        new LogGroup(this, 'FlowLog', { retention: logRetention, removalPolicy }),
      ),
      trafficType: FlowLogTrafficType.REJECT,
      maxAggregationInterval: FlowLogMaxAggregationInterval.TEN_MINUTES,
    });
    return vpc;
  }

  /** The outbound address. The trading servers list it, so it outlives the network. */
  private address(removalPolicy: RemovalPolicy): string {
    const address = new CfnEIP(this, 'Address', { domain: 'vpc' });
    address.overrideLogicalId('EgressAddress');
    address.applyRemovalPolicy(removalPolicy);
    const text = 'The address that trading servers must admit: every call of the account functions comes from it.';
    addOutput(this, 'EgressIpAddress', text, address.attrPublicIp);
    return address.attrAllocationId;
  }
}
