import { type CfnElement, CfnOutput, Fn, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** An output of the stack with exactly this name, for every construct. */
export function addOutput(scope: Construct, name: string, description: string, value: string): void {
  new CfnOutput(scope, `${name}Output`, { description, value }).overrideLogicalId(name);
}

/** Gives the resource of a construct exactly this id in the template: with another one it would be another resource. */
export function fixLogicalId({ node }: Construct, id: string): void {
  (node.defaultChild as CfnElement).overrideLogicalId(id);
}

/** Eight characters that are unique to this stack. A resource that outlived a stack of the same name cannot collide. */
export function uniqueStackSuffix(scope: Construct): string {
  const uuid = Fn.select(2, Fn.split('/', Stack.of(scope).stackId));
  return Fn.select(0, Fn.split('-', uuid));
}
