import { type CfnElement, CfnOutput, Fn, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** Adds an output with exactly this name to the stack, from any construct. */
export function addOutput(scope: Construct, name: string, description: string, value: string): void {
  new CfnOutput(scope, `${name}Output`, { description, value }).overrideLogicalId(name);
}

/** Gives the resource of a construct exactly this id in the template: with another id it would be another resource. */
export function fixLogicalId({ node }: Construct, id: string): void {
  (node.defaultChild as CfnElement).overrideLogicalId(id);
}

/**
 * Eight characters that are unique to this stack: names of a new stack cannot collide with those of a deleted stack's
 * resources that still exist.
 */
export function uniqueStackSuffix(scope: Construct): string {
  const uuid = Fn.select(2, Fn.split('/', Stack.of(scope).stackId));
  return Fn.select(0, Fn.split('-', uuid));
}
